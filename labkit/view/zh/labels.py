"""Words and short labels: controls, axes, headings of tables, names of facts."""

from __future__ import annotations

__all__ = ["LABELS"]

LABELS = {
    # controls of the panel and of a board
    "drafter": "草稿模型", "K": "K（推测词元数）", "temperature": "温度", "users": "并发用户", "workload": "任务类别",
    "language": "提示语言", "confidence": "置信水平", "interpolate": "在实测温度之间插值", "measure here": "在本机测量",
    "cancel": "取消", "cancelled; nothing was kept": "已取消，未保留任何结果",
    "baseline URL, then the URL with speculation; empty: both are started here":
        "先填基线地址，再填推测解码地址；留空则都在本机启动",
    "an earlier measurement is being cancelled; press again in a moment": "正在取消先前的测量，请稍后再按",
    "incompatible": "不兼容",
    "preflight refuses this setting; labkit sweep --force measures it all the same":
        "启动前检查拒绝此设置；labkit sweep --force 仍可测量",
    # charts
    "speedup": "加速比", "tokens per step": "每步词元数", "draft position": "草稿位置", "acceptance": "接受率",
    "measured": "实测", "measured here": "本机实测", "predicted": "预测", "replayed": "重放", "interpolated": "插值",
    "at least this many": "至少接受这么多", "given those before": "在前面都被接受时",
    "given the one before": "在前一个被接受时",
    "time for 5 tokens (ms)": "生成 5 个词元的时间（毫秒）", "no speculation": "不用推测解码",
    "K (num_speculative_tokens)": "K（num_speculative_tokens）",
    "speedup over no speculation (×)": "相对不用推测解码的加速比（×）", "speedup (×)": "加速比（×）",
    "share of drafted steps accepted": "被接受的草稿步占比", "conditional": "条件接受率",
    "time for {n} output tokens (ms); a block is a step, with the tokens it yields on average":
        "生成 {n} 个输出词元的时间（毫秒）；一格为一步，数字为该步平均产出的词元数",
    "{name}, at least this many": "{name}，至少接受这么多", "{name}, given the one before": "{name}，在前一个被接受时",
    "{name}, from its largest K": "{name}，由最大的 K 推得", "{name}, replayed": "{name}，重放",
    "{name}, predicted": "{name}，预测", "{name}, measured": "{name}，实测",
    # the card
    "setting": "设置", "tok/s": "词元/秒", "tok/s per user": "每用户词元/秒",
    "1,000 characters": "一千字符", "gain": "增益", "TPOT (ms)": "TPOT（毫秒）",
    "why": "理由", "launch line": "启动命令", "missing": "缺少的数据",
    "demo names stand for folders: labkit models demo makes and names them":
        "demo 名称代表本地目录：labkit models demo 会生成并列出它们",
    # tables
    "low": "下限", "high": "上限", "prompts": "提示数", "looping": "循环输出", "with looping": "含循环输出",
    "blocks": "轮数", "block": "轮", "cautions": "注意事项", "requests": "请求数", "output tokens": "输出词元",
    "TTFT (ms)": "TTFT（毫秒）", "acceptance rate": "接受率", "acceptance length": "接受长度",
    "length, by request": "按请求平均的长度", "flags": "标记", "step (ms)": "每步（毫秒）", "method": "方法",
    "launches": "启动", "category": "类别", "position": "位置", "joint": "联合接受率", "steps": "步数",
    "tokens seen": "已见词元", "kind": "类型", "source": "来源", "note": "说明", "fit error": "拟合误差",
    # facts
    "run": "运行", "plan": "计划", "target": "目标模型", "command": "命令", "engine": "引擎",
    "repairs": "修复", "order": "顺序",
    "cells": "测量单元", "none": "无", "cell": "单元", "flag: {name}": "标记：{name}", "failed: {name}": "失败：{name}",
    "{a:n} requests a cell, hash {b}": "每单元 {a} 个请求，哈希 {b}",
    "{a} block(s), seed {b}, warmed up once per {c}": "{a} 轮，种子 {b}，每个{c}预热一次",
    "{a} block(s), seed {b}, warmed up once per {c}, engines in turn prompt by prompt":
        "{a} 轮，种子 {b}，每个{c}预热一次，各引擎逐条提示轮流测量",
    "{a:n} measured, {b:n} missing": "已测 {a} 个，缺少 {b} 个",
    "vllm {a} on {b}": "vllm {a}，设备 {b}", "simulated {a} on {b}": "模拟引擎 {a}，设备 {b}",
    "remote {a} on {b}": "远程引擎 {a}，设备 {b}",
    "sampling parameters reach the rejection sampler": "采样参数能够到达拒绝采样器",
    "top_k on a step without drafts": "没有草稿的步上的 top_k",
    # the page
    "report made": "报告生成", "made with": "生成命令", "shows the same run": "显示同一次运行的命令",
    "Where does this come from?": "这些数据从何而来？", "what was printed": "打印的内容",
    "save this table (CSV)": "保存此表（CSV）",
    # places
    "T = {t:n}, {n:n} users": "T = {t}，{n} 个用户", "T = {t:n}, {n:n} user": "T = {t}，{n} 个用户",
    "T = {t:n} with {n:n} users": "T = {t}、{n} 个用户", "T = {t:n} with {n:n} user": "T = {t}、{n} 个用户",
    "the baseline": "基线", "baseline": "基线",
    # a drafter's card and how it learnt
    "trained on": "训练数据", "draft vocabulary": "草稿词表", "licence": "许可证", "unknown": "未知",
    "offline, {name}": "离线，{name}", "served, {name}": "服务实测，{name}",
    "training loss": "训练损失", "held-out prompts": "留出提示", "loss": "损失", "depth {n:n}": "深度 {n}",
    "draft token {n:n}": "第 {n} 个草稿词元", "answer tokens seen": "已见回答词元",
    "cross entropy (nats)": "交叉熵（纳特）", "right, given those before": "在前面都正确时的正确率",
    # the index of reports
    "Reports": "报告", "labkit reports": "labkit 报告", "question": "问题", "best drafter": "最佳草稿模型",
    "over K": "随 K 的变化", "verdict": "结论", "all targets": "全部目标模型", "all": "全部",
}  # fmt: skip
