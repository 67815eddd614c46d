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
    "why": "理由", "launch line": "启动命令", "missing": "缺少的数据",
}  # fmt: skip


def word(text: str, language: str) -> str:
    """``text``, which is English, in ``language``; itself where there is no translation."""
    return _ZH.get(text, text) if language == "zh" else text
