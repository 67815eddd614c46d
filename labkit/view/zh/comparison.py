"""What a comparison of two runs says, and what stands beside published figures."""

from __future__ import annotations

__all__ = ["COMPARISON"]

COMPARISON = {
    # headline
    "Nothing could be judged: no figure has enough prompts in both runs":
        "无法判断：没有数值在两次运行中都有足够的提示",
    "Regression: {n:n} of {m:n} figures are worse beyond chance": "变差：{m} 个数值中有 {n} 个变差，超出偶然",
    "Regression: {n:n} of {m:n} figures are worse beyond chance, {b:n} better":
        "变差：{m} 个数值中有 {n} 个变差，超出偶然；{b} 个变好",
    "Improvement: {n:n} of {m:n} figures are better beyond chance, none is worse":
        "变好：{m} 个数值中有 {n} 个变好，超出偶然；没有变差的",
    "No change: none of {n:n} figures differs beyond chance": "没有变化：{n} 个数值的差异都未超出偶然",
    "{headline} (equal runs are called changed in {p:n} % of comparisons at most).":
        "{headline}（两次相同的运行最多在 {p} % 的比较中被判为有变化）。",
    # changes
    "Regression: {what}.": "变差：{what}。", "Improvement: {what}.": "变好：{what}。",
    "{cell}: time per token {x:n} [{a:n}, {b:n}]": "{cell}：每词元时间 {x} [{a}, {b}]",
    "{cell}: time per token against other drafters {x:n} [{a:n}, {b:n}]":
        "{cell}：每词元时间与其他草稿模型之比 {x} [{a}, {b}]",
    "{cell}: speedup {x:n} [{a:n}, {b:n}]": "{cell}：加速比 {x} [{a}, {b}]",
    "{cell}: acceptance length {x:n} tokens [{a:n} tokens, {b:n} tokens]":
        "{cell}：接受长度 {x} 个词元 [{a} 个, {b} 个]",
    "{cell}: joint rate at draft position {i:n} {x:n} points [{a:n} points, {b:n} points]":
        "{cell}：草稿位置 {i} 的联合接受率 {x} 个百分点 [{a} 个, {b} 个]",
    "{cell}: outputs unlike the baseline's {x:n} points [{a:n} points, {b:n} points]":
        "{cell}：与基线不同的输出 {x} 个百分点 [{a} 个, {b} 个]",
    "{arm}, T = {t:n}, concurrency {n:n}": "{arm}，T = {t}，并发 {n}",
    "… and {n:n} more in the table.": "……表中还有 {n} 项。",
    "The baseline itself is {x:n} % slower ({cell}): that is the engine or the machine and is in every time per token; "
    "what the drafters do stands in the speedups.":
        "基线本身慢了 {x} %（{cell}）：这是引擎或机器造成的，所有每词元时间都含有它；草稿模型的作用要看加速比。",
    "The baseline itself is {x:n} % faster ({cell}): that is the engine or the machine and is in every time per token; "
    "what the drafters do stands in the speedups.":
        "基线本身快了 {x} %（{cell}）：这是引擎或机器造成的，所有每词元时间都含有它；草稿模型的作用要看加速比。",
    "The anchor cell {cell} moved inside the run {run}: drift {x:n} in {figure} ({values:n} by block).":
        "锚定单元 {cell} 在{run}的运行内移动了：{figure} 漂移 {x}（各轮：{values}）。",
    "before": "之前", "after": "之后", "time per token": "每词元时间", "joint rate": "联合接受率",
    "outputs unlike the baseline's": "与基线不同的输出",
    "Too few launches were repeated to see how they scatter, so speeds are judged as if one launch varied by {p:n} %; "
    "where they vary by more, equal runs are called changed: measure 3 blocks.":
        "重复的启动太少，看不出启动之间的离散程度，因此按一次启动有 {p} % 的变化来判断速度；实际变化更大时，"
        "相同的运行会被判为有变化：请测 3 轮。",
    "A cell is noticed from {p:n} % slower on; more blocks, or engines that take turns, show less.":
        "单元慢 {p} % 以上才会被发现；多测几轮，或让引擎轮流测量，能发现更小的变化。",
    "Not compared: {what}.": "未比较：{what}。",
    "{cell}: only before": "{cell}：只在之前的运行中", "{cell}: only after": "{cell}：只在之后的运行中",
    # figure and tables
    "change (%)": "变化（%）", "change (tokens)": "变化（词元）", "change (points)": "变化（百分点）",
    "against other drafters": "与其他草稿模型之比", "joint rate by position": "各位置的联合接受率",
    "change": "变化", "figure": "数值", "p": "p 值",
    "%{{x:+.2f}} [%{{customdata[0]:+.2f}}, %{{customdata[1]:+.2f}}] (%), %{{text}} (p = %{{customdata[2]:.2g}})":
        "%{{x:+.2f}} [%{{customdata[0]:+.2f}}, %{{customdata[1]:+.2f}}]（%），%{{text}}（p = %{{customdata[2]:.2g}}）",
    "%{{x:+.2f}} [%{{customdata[0]:+.2f}}, %{{customdata[1]:+.2f}}] (tokens), %{{text}} (p = %{{customdata[2]:.2g}})":
        "%{{x:+.2f}} [%{{customdata[0]:+.2f}}, %{{customdata[1]:+.2f}}]（词元），%{{text}}"
        "（p = %{{customdata[2]:.2g}}）",
    "%{{x:+.2f}} [%{{customdata[0]:+.2f}}, %{{customdata[1]:+.2f}}] (points), %{{text}} (p = %{{customdata[2]:.2g}})":
        "%{{x:+.2f}} [%{{customdata[0]:+.2f}}, %{{customdata[1]:+.2f}}]（百分点），%{{text}}"
        "（p = %{{customdata[2]:.2g}}）",
    "regression": "变差", "improvement": "变好", "no change": "没有变化", "others changed": "其他有变化",
    "tpot": "每词元时间（毫秒）", "relative_tpot": "每词元时间与其他草稿模型之比",
    "acceptance_length": "接受长度", "joint_rate": "联合接受率",
    "divergence": "与基线不同的输出",
    "{a:n} and {b:n}": "{a} 与 {b}", "{a:n} and {b:n}, assumed": "{a} 与 {b}，离散程度为假定",
    "n = {n:n} prompts × {b:n} block · {a:s} against {c:s}": "n = {n} 个提示 × {b} 轮 · {a} 对比 {c}",
    "{a:s} against {b:s}": "{a} 对比 {b}",
    # claimed and measured
    "claim": "声称", "claimed": "声称的数值", "comparable": "可比性", "address": "地址", "title": "标题",
    "yes": "是", "partly": "部分", "no": "否",
    "{x:n} (really {n:n})": "{x}（实为 {n}）",
    "the article": "本文", "{name}, table {n:n}": "{name}，表 {n}", "{name}, abstract": "{name}，摘要",
    "{name}, leaderboard on 3090": "{name}，3090 上的排行榜", "{name}, section {n:n}": "{name}，第 {n} 节",
    "baseline tokens per second": "基线每秒词元数", "tokens per second": "每秒词元数",
    "baseline seconds per 1000 characters": "基线每千字符秒数", "seconds per 1000 characters": "每千字符秒数",
    "greedy agreement": "贪心文本一致率", "other": "其他",
    "K = {a:n}, not {b:n}": "K = {a}，而非 {b}", "T = {a:n}, not {b:n}": "T = {a}，而非 {b}",
    "users = {a:n}, not {b:n}": "用户数 = {a}，而非 {b}",
    "another target ({a}, not {b}) on another machine": "另一台机器上的另一个目标模型（{a}，而非 {b}）",
    "other prompts ({a}, not {b})": "其他提示（{a}，而非 {b}）",
    "the source leaves {what} open": "来源没有说明 {what}", "{a:s} and {b:s}": "{a} 与 {b}",
    "{a:s} and {b:s} and {c:s}": "{a}、{b} 与 {c}",
    "no {method:s} was measured here": "这里没有测过 {method}",
    "no such cell was measured here": "这里没有测过这样的单元",
    "accepting {a:n} of {d:n} drafts yields {n:n} tokens, not {a:n}: the target adds one of its own":
        "接受 {d} 个草稿词元中的 {a} 个，得到的是 {n} 个词元，而不是 {a} 个：目标模型自己再加一个",
    "so {a:n} against {b:n} ms is {x:n}, not {y:n}": "因此 {a} 毫秒对 {b} 毫秒是 {x}，而不是 {y}",
}  # fmt: skip
