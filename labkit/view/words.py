"""The panel's labels in English and Chinese."""

from __future__ import annotations

__all__ = ["LANGUAGES", "word"]

LANGUAGES = ("en", "zh")

_ZH = {
    "drafter": "草稿模型", "K": "K（推测词元数）", "temperature": "温度", "users": "并发用户", "workload": "任务类别",
    "language": "提示语言", "confidence": "置信水平", "interpolate": "在实测温度之间插值", "measure here": "在本机测量",
    "cancel": "取消", "engine URL (empty: start one here)": "引擎地址（留空则在本机启动）",
    "speedup": "加速比", "tokens per step": "每步词元数", "draft position": "草稿位置", "acceptance": "接受率",
    "measured": "实测", "measured here": "本机实测", "predicted": "预测", "replayed": "重放", "interpolated": "插值",
    "at least this many": "至少接受这么多", "given those before": "在前面都被接受时",
    "time for 5 tokens (ms)": "生成 5 个词元的时间（毫秒）", "no speculation": "不用推测解码",
    "setting": "设置", "tok/s": "词元/秒", "1,000 characters": "一千字", "gain": "增益",
    "why": "理由", "launch line": "启动命令", "missing": "缺少的数据", "TPOT (ms)": "每词元时间（毫秒）",
    "tok/s per user": "每用户词元/秒", "not known": "未知", "no interval": "无区间", "fit off by {e}": "拟合误差 {e}",
    "{n} user": "{n} 个用户", "{n} users": "{n} 个用户", "n = {n} prompts": "n = {n} 个提示",
    "faster": "更快", "slower": "更慢", "not proven": "未证实", "no evidence": "没有证据", "off": "关闭",
    "nothing was measured at this load": "此负载下没有测量", "about {n} s left": "约剩 {n} 秒",
    "measured here in {n} s": "本机实测用时 {n} 秒", "cancelled; nothing was kept": "已取消，未保留任何结果",
    "incompatible": "不兼容",
    "preflight refuses this setting; labkit sweep --force measures it all the same":
        "启动前检查拒绝此设置；labkit sweep --force 仍可测量",
    "an earlier measurement is being cancelled; press again in a moment": "正在取消先前的测量，请稍后再按",
    "baseline URL, then the URL with speculation; empty: both are started here":
        "先填基线地址，再填推测解码地址；留空则都在本机启动",
    "demo names stand for folders: labkit models demo makes and names them":
        "demo 名称代表本地目录：labkit models demo 会生成并列出它们",
}  # fmt: skip


def word(text: str, language: str) -> str:
    """``text``, which is English, in ``language``; itself where there is no translation."""
    return _ZH.get(text, text) if language == "zh" else text
