"""What audits of losslessness and task guards say."""

from __future__ import annotations

__all__ = ["AUDITS"]

AUDITS = {
    # table of checks
    "checked": "检查内容", "verdict": "结论", "finding": "发现", "n": "数量",
    "greedy text": "贪心文本", "distribution of tokens": "词元的分布", "valid answers": "有效的回答",
    "not audited": "未审计", "no fault found": "未发现差错", "fault": "有差错", "refused": "无法判断",
    "a drop": "下降", "no drop": "没有下降",
    "Not audited: 'labkit audit RUN' tells whether it changes the text.":
        "未审计：“labkit audit RUN” 可查明它是否改变文本。",
    "a temperature {p} too high would have been found": "温度偏高 {p} 就会被发现",
    "{n} of {m} prompts that part with speculation alone would have been a fault":
        "{m} 个提示中若有 {n} 个仅在推测解码时分叉，就算有差错",
    "{found}; tests of acceptance and of recovered tokens alone: the drafter's choices are not known here":
        "{found}；接受与替换词元的单独检验无法进行：这里不知道草稿模型的选择",
    "K = {k}, {n} at once: {check} {with_it} with it, {without} without":
        "K = {k}，{n} 路并发：{check} 使用时 {with_it}，不使用时 {without}",
    # card and recommendation
    "The audit at T = {t} (K = {k}, {n} tokens) found no fault.": "T = {t} 的审计（K = {k}，{n} 个词元）未发现差错。",
    "The audit at T = {t} (K = {k}, {n} tokens) found a fault: {why}.":
        "T = {t} 的审计（K = {k}，{n} 个词元）发现差错：{why}。",
    "The audit at T = {t} (K = {k}, {n} tokens) could say nothing: {why}.":
        "T = {t} 的审计（K = {k}，{n} 个词元）无法判断：{why}。",
    "Do not switch it on: {reason}.": "请勿启用：{reason}。",
    "an audit at T = {t} found that it changes the text ({why})": "T = {t} 的审计发现它改变了文本（{why}）",
    "its answers are valid {check} less often ({without} without speculation, {with_it} with it, {n} prompts)":
        "它给出有效 {check} 的次数更少（不用推测解码 {without}，使用时 {with_it}，{n} 个提示）",
    "{d} K={k} at T = {t} is left out: {reason}.": "{d} K={k}（T = {t}）未被考虑：{reason}。",
}  # fmt: skip
