"""Sentences with numbers in them: titles, verdicts, cards."""

from __future__ import annotations

__all__ = ["SENTENCES"]

SENTENCES = {
    # intervals
    "{x:n} (too few prompts for an interval)": "{x}（提示太少，无法给出区间）",
    "no figure: no prompt was usable": "没有数值：没有可用的提示",
    # titles
    "No speedup could be computed": "无法计算加速比",
    "No drafter pays: every interval lies below 1×": "没有草稿模型划算：所有区间都低于 1×",
    "No drafter is surely faster; the best is {arm} at {where}: {interval}":
        "没有草稿模型确定更快；最好的是 {arm}（{where}）：{interval}",
    "{arm} is faster at {where}: {interval}": "{arm} 在 {where} 时更快：{interval}",
    "Nothing was drafted": "没有任何草稿",
    "{arm} at T = {t}: {a} of steps accept the first draft, {b} all {n}":
        "{arm}（T = {t}）：{a} 的步接受第一个草稿词元，{b} 的步全部接受 {n} 个",
    "No speedup per category could be computed": "无法按类别计算加速比",
    "Most on {a} ({arm}, {x}), least on {b} ({other}, {y})":
        "在 {a} 上最高（{arm}，{x}），在 {b} 上最低（{other}，{y}）",
    "No timeline: it needs the baseline and a drafter whose steps are counted":
        "没有时间线：需要基线以及一个有步数统计的草稿模型",
    "A step of {arm} takes {a} ms for {n} tokens; the baseline {b} ms for 1":
        "{arm} 的一步用 {a} 毫秒产出 {n} 个词元；基线用 {b} 毫秒产出 1 个",
    "No speedup has an interval yet": "还没有带区间的加速比",
    "No K is surely faster; the best, {arm}, is at {interval}, predicted":
        "没有确定更快的 K；最好的 {arm} 为 {interval}（预测）",
    "No K is surely faster; the best, {arm}, is at {interval}": "没有确定更快的 K；最好的 {arm} 为 {interval}",
    "Best is {arm} with {interval}; the rule K = {a} to {b} would give {x} at most":
        "最好的是 {arm}，{interval}；按经验 K = {a} 到 {b} 最多只有 {x}",
    "Best is {arm} with {interval}, predicted": "最好的是 {arm}，{interval}（预测）",
    "Best is {arm} with {interval}": "最好的是 {arm}，{interval}",
    # verdicts
    "At {where}: no figure; no prompt was usable in both arms.": "{where} 时：没有数值；没有在两边都可用的提示。",
    "At {where}: switch on {arm}; it is {interval} as fast as without in this launch. "
    "Repeat it before you rely on it: {cautions}.":
        "{where} 时：启用 {arm}；在本次启动中速度是不用时的 {interval}。在依赖它之前请重测：{cautions}。",
    "At {where}: switch on {arm}; it is {interval} as fast as without. Repeat it before you rely on it: {cautions}.":
        "{where} 时：启用 {arm}；速度是不用时的 {interval}。在依赖它之前请重测：{cautions}。",
    "At {where}: switch on {arm}; it is {interval} as fast as without in this launch.":
        "{where} 时：启用 {arm}；在本次启动中速度是不用时的 {interval}。",
    "At {where}: switch on {arm}; it is {interval} as fast as without.":
        "{where} 时：启用 {arm}；速度是不用时的 {interval}。",
    "At {where}: leave speculation off; every drafter measured is slower.":
        "{where} 时：不要启用推测解码；测过的草稿模型都更慢。",
    "At {where}: not decided; no interval lies above 1×. The best, {arm}, is {interval}. Measure more prompts or "
    "blocks.":
        "{where} 时：未定；没有区间高于 1×。最好的 {arm} 为 {interval}。请测量更多提示或更多轮。",
    "Nothing was measured.": "什么都没有测量。",
    "Only the baseline was measured: nothing to compare with.": "只测了基线：没有可比较的。",
    "The baseline was not measured: no speedup can be told.": "没有测基线：无法给出加速比。",
    "All {n} cells of the plan were measured.": "计划中的 {n} 个单元已全部测量。",
    # under a title
    "{parts} · shipped prompts": "{parts} · 随附提示", "{parts} · {workload}": "{parts} · {workload}",
    "{parts}, {n:n} looping left out at most": "{parts}，最多剔除 {n} 个循环输出",
    "{parts}, looping outputs left out": "{parts}，已剔除循环输出",
    "{parts}, this launch only": "{parts}，仅限本次启动",
    "n = {n:n} prompts × {b:n} blocks": "n = {n} 个提示 × {b} 轮",
    "n = {n:n} prompts × {b:n} block": "n = {n} 个提示 × {b} 轮",
    "looping outputs left out": "已剔除循环输出",
    "n = {n:n} prompts, {where}": "n = {n} 个提示，{where}", "n = {n:n} prompts": "n = {n} 个提示",
    # hover
    "step {i}: {a} ms, {n} tokens": "第 {i} 步：{a} 毫秒，{n} 个词元",
    "position %{{x:.0f}}: %{{y:.3f}}": "位置 %{{x:.0f}}：%{{y:.3f}}",
    "K = %{{x}}: %{{y:.2f}} tokens per step": "K = %{{x}}：每步 %{{y:.2f}} 个词元",
    # the card
    "{arm}, T = {t:n}, {n:n} user: {rest}": "{arm}，T = {t}，{n} 个用户：{rest}",
    "{arm}, T = {t:n}, {n:n} users: {rest}": "{arm}，T = {t}，{n} 个用户：{rest}",
    "{x:n}, {sure:w} ({rests})": "{x}，{sure}（{rests}）",
    "{x:n} no interval, {sure:w} ({rests})": "{x} 无区间，{sure}（{rests}）",
    "not known": "未知", "fit off by {e:n}": "拟合偏差 {e}",
    "faster": "更快", "slower": "更慢", "not proven": "未证实", "no evidence": "没有依据",
    "why: nothing was measured at this load": "理由：这个负载下什么都没有测量",
    "why: off ({verdict})": "理由：不启用（{verdict}）", "why: {arm} ({verdict})": "理由：{arm}（{verdict}）",
    # notes of a board
    "{c} intervals; prompts in {name} only": "{c} 区间；只含语言为 {name} 的提示", "{c} intervals": "{c} 区间",
    "Left out to keep this page small: {what}.": "为使页面保持小巧，略去了：{what}。",
    "temperatures between the measured ones": "实测温度之间的温度",
    "kinds of prompt other than {name}": "{name} 以外的任务类别",
    "some values of {name}": "{name} 的部分取值",
    "{name} cannot be chosen: {reason}": "{name} 无法选择：{reason}", "not measured yet": "尚未测量",
    "The controls are in the exported report and in the tuning lab.": "控件在导出的报告和调优实验室中。",
    # a drafter's card and how it learnt
    "{name:s}: {method:s} for {target:s}": "{name}：{method}，目标模型 {target}",
    "{a:n} tokens of {b:n} answers, {c:n} steps, {d:n} min on {e:s}, final loss {f:n}":
        "{b} 个回答的 {a} 个词元，{c} 步，在 {e} 上 {d} 分钟，最终损失 {f}",
    "{a:n} tokens: {b:n} % of unseen answers": "{a} 个词元：覆盖未见回答的 {b} %",
    "as the target's: for the demo {name:s}": "与目标模型相同：演示模型为 {name}",
    "no greedy answers to judge by": "没有可供判断的贪心回答",
    "agreement by depth {a:n}; acceptance length {b}": "各深度一致率 {a}；接受长度 {b}",
    "{at}: acceptance length {a}, speedup {b}, {n:n} prompts": "{at}：接受长度 {a}，加速比 {b}，{n} 个提示",
    "K={k:n} T={t:n} users={n:n}": "K={k} T={t} 用户数={n}",
    "{name:s}, K={k:n} T={t:n} users={n:n}": "{name}，K={k} T={t} 用户数={n}",
    "Nothing learnt yet": "尚未学到任何东西",
    "After the first look a step would yield {x:n} tokens": "第一次评估后，每步将产出 {x} 个词元",
    "From {a:n} to {b:n} tokens per step on held-out prompts": "在留出提示上，每步词元数从 {a} 到 {b}",
    "{method:s} for {target}, held-out prompts": "{method}，目标模型 {target}，留出提示",
    # a page where no script runs
    "Figures and controls of this page need a browser that runs scripts.": "本页的图和控件需要能运行脚本的浏览器。",
}  # fmt: skip
