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
    # figure and tables of tests
    "Nothing was audited above T = 0": "没有 T > 0 的审计",
    "{arm} at T = {t:n} is not lossless: {test} (p = {p})": "{arm}（T = {t}）不是无损的：{test}（p = {p}）",
    "No test finds a fault": "没有检验发现差错",
    "No test finds a fault; a temperature {p:n} too high would have been found in all":
        "没有检验发现差错；温度偏高 {p} 在每项审计中都会被发现",
    "n = {a:n} to {b:n} tokens an audit, intervals 95 % · {workload}":
        "n = 每项审计 {a} 至 {b} 个词元，95 % 区间 · {workload}",
    "found / right": "发现值 / 正确值", "would have been found": "会被发现的偏差",
    "{name:s}, would have been found": "{name}，会被发现的偏差",
    "%{{text}}: %{{x:.3f}}, %{{customdata[0]}} tokens, p = %{{customdata[1]:.2g}}":
        "%{{text}}：%{{x:.3f}}，%{{customdata[0]}} 个词元，p = %{{customdata[1]:.2g}}",
    "test": "检验", "ratio": "比值", "visible": "会被发现的比值", "arm": "对比组", "parted": "分叉数",
    "beyond near tie": "非近似平局的分叉数", "rate": "比率", "shipped prompts": "随附提示",
    "speculation": "推测解码", "baseline again": "再次运行的基线", "baseline in other batches": "其他批次中的基线",
    "all tokens": "所有词元", "recovered token": "替换词元", "outside": "前 20 名以外", "bonus token": "附加词元",
    "position {i:n}": "位置 {i}", "category {name:s}": "类别 {name}", "not drafted": "没有草稿的词元",
    "steps with drafts": "有草稿的步", "first of a step, drafted or not": "每步第一个词元，不论有无草稿",
    "all partings": "所有分叉", "partings beyond a near tie": "非近似平局的分叉",
    # why
    "found by: {tests}": "由以下检验发现：{tests}",
    "nothing was drafted in {n:n} tokens, so speculation was not audited; try other prompts":
        "{n} 个词元中没有任何草稿，因此推测解码未被审计；请换其他提示",
    "speculation changes greedy text oftener than asking again does: {tests}":
        "推测解码改变贪心文本的次数多于重复提问：{tests}",
    "beyond near ties it does not, so rounding breaks ties otherwise with speculation":
        "除近似平局外并无差别，即推测解码时舍入以另一种方式打破平局",
    "{arm}: {k:n} of {n:n} texts part from the baseline's, {c:n} of them beyond a near tie, the median at token {i:n}":
        "{arm}：{n} 个文本中有 {k} 个与基线分叉，其中 {c} 个不是近似平局，中位数在第 {i} 个词元",
    "{arm}: {k:n} of {n:n} texts part from the baseline's, {c:n} of them beyond a near tie":
        "{arm}：{n} 个文本中有 {k} 个与基线分叉，其中 {c} 个不是近似平局",
    "{n:n} prompts are too few: {m:n} that part with speculation alone would be a fault; ask for more":
        "{n} 个提示太少：要有 {m} 个仅在推测解码时分叉才算差错；请多问一些",
}  # fmt: skip
