"""What is said before a launch besides rules: what they are about, what fills them, caveats of presets, labels."""

from __future__ import annotations

__all__ = ["LAUNCHING"]

_ABOUT = {
    "models of which nothing is known here": "此处一无所知的模型", "ids that mean other tokens": "含义为另一词元的编号",
    "tokenizers that could not be compared": "无法比较的分词器",
    "the same ids, text cut differently": "编号相同，文本切分不同",
    "vocabularies of different size": "大小不同的词表", "a draft with a vocabulary of its own": "词表不同的草稿模型",
    "use_heterogeneous_vocab where it does not work": "在无效之处使用 use_heterogeneous_vocab",
    "a head with a reduced vocabulary": "使用缩减词表的草稿头",
    "a reduced vocabulary that does not fit the target": "与目标模型不符的缩减词表",
    "a head made for another vocabulary": "为另一词表制作的草稿头", "a path that decides the method": "决定方法的路径",
    "a head run as a plain draft model": "当作普通草稿模型运行的草稿头",
    "a head of an architecture vLLM does not have": "vLLM 没有其架构的草稿头",
    "a target that may not hand out inner hidden states": "可能不提供中间隐藏状态的目标模型",
    "a head made for another hidden size": "为另一隐藏维度制作的草稿头", "MTP without MTP layers": "没有 MTP 层的 MTP",
    "K and the number of MTP layers": "K 与 MTP 层数", "K beyond the trained MTP depth": "K 超过训练过的 MTP 深度",
    "the method draft_model": "方法 draft_model", "the method mlp_speculator": "方法 mlp_speculator",
    "suffix decoding needs a package": "后缀解码需要一个软件包", "ngram without a window": "没有设置窗口的 ngram",
    "an impossible window of ngram": "不可能的 ngram 窗口", "a drafter with K = 0": "K = 0 的草稿模型",
    "MTP without K": "没有给出 K 的 MTP", "the draft's tensor parallel size": "草稿模型的张量并行数",
    "a draft model on fewer GPUs than the target": "所用 GPU 少于目标模型的草稿模型",
    "a head on one GPU of several": "多块 GPU 中只用一块的草稿头",
    "attention heads over GPUs": "注意力头在 GPU 上的划分",
    "the draft's attention heads over GPUs": "草稿模型的注意力头在 GPU 上的划分",
    "speculation over pipeline stages": "跨流水线阶段的推测解码",
    "EAGLE-3 over pipeline stages": "跨流水线阶段的 EAGLE-3",
    "EAGLE-3 over pipeline stages under another target": "目标模型为其他架构时，跨流水线阶段的 EAGLE-3",
    "a K schedule with data parallelism": "与数据并行同用的 K 调度表", "a K schedule": "K 调度表",
    "a K schedule vLLM cannot read": "vLLM 无法读取的 K 调度表",
    "ngram and draft models on model runner V2": "模型运行器 V2 上的 ngram 与草稿模型",
    "what model runner V2 does not have": "模型运行器 V2 没有的功能",
    "what model runner V1 does not have": "模型运行器 V1 没有的功能",
    "CUDA graphs smaller than a proposal": "小于一次草稿的 CUDA 图",
    "batches beyond the captured CUDA graphs": "超出已捕获 CUDA 图的批次",
    "no room for drafting in a batch": "批次中没有起草的余地", "LoRA adapters": "LoRA 适配器",
    "LoRA and the size of a batch": "LoRA 与批次大小", "memory left for the KV cache": "留给 KV 缓存的显存",
    "too little memory for the KV cache": "KV 缓存的显存不足", "memory that cannot be reckoned": "无法估算的显存",
    "sequences beyond the draft's window": "超出草稿模型窗口的序列",
    "a draft window beyond the models'": "超出模型窗口的草稿窗口", "structured outputs": "结构化输出",
    "structured outputs with lm-format-enforcer": "使用 lm-format-enforcer 的结构化输出",
    "sampling parameters that are refused": "被拒绝的采样参数", "penalties": "惩罚项",
    "tensor_parallel_size in the speculative config": "推测配置中的 tensor_parallel_size",
    "keys vLLM does not have": "vLLM 没有的键", "a version the rules were not read from": "规则并非由其读出的版本",
}  # fmt: skip

_HELD = {
    "padding only": "仅填充不同", "other rows": "行数不同", "nothing": "无", "unnamed": "未命名",
    "id {n:n}: target {a}, draft {b}": "编号 {n}：目标模型 {a}，草稿模型 {b}",
    "among many others, 128000, 128001 and 128009 are <|begin_of_text|>, <|end_of_text|> and <|eot_id|> to Llama; "
    "Qwen2.5's own special tokens begin at 151643 (QwenLM/Qwen3 issue 29), so to it they are ordinary ones":
        "除许多其他编号外，128000、128001 与 128009 对 Llama 是 <|begin_of_text|>、<|end_of_text|> 与 <|eot_id|>；"
        "Qwen2.5 自己的特殊词元从 151643 开始（QwenLM/Qwen3 issue 29），因此对它而言这些是普通词元",
    "d2t has {a:n} entries, draft_vocab_size is {b:n}": "d2t 有 {a} 项，draft_vocab_size 为 {b}",
    "{a:n} of its tokens are beyond the target's {b:s}": "其中 {a} 个词元超出目标模型的 {b} 个",
    "it must be a list of [first batch, last batch, K]": "它必须是 [起始批量, 结束批量, K] 的列表",
    "it must hold whole numbers": "其中必须是整数",
    "a range must rise from 1 on and K must not be negative": "区间必须从 1 起递增，K 不得为负",
    "the first range must begin at batch size 1": "第一个区间必须从批量 1 开始",
    "ranges must not overlap": "区间不得重叠",
    "method {name:s}": "方法 {name}", "parallel drafting": "并行起草",
    "{first}, parallel drafting": "{first}、并行起草",
    "{first}, use_heterogeneous_vocab": "{first}、use_heterogeneous_vocab",
    "vLLM says: {words}": "vLLM 说：{words}",
    "incompatible: {why}": "incompatible：{why}",
    "Incompatible, so it is not measured here. {why}": "不兼容，因此不在这里测量。{why}",
}  # fmt: skip

_CAVEATS = {
    "One MTP layer was trained: K = 2 runs it twice, and each further token is accepted less (preflight warns).":
        "只训练了一个 MTP 层：K = 2 会运行它两次，每多一个词元就接受得更少（启动前检查会警告）。",
    "draft_tensor_parallel_size 1 has no effect: the layer runs on all GPUs.":
        "draft_tensor_parallel_size 1 没有效果：该层在所有 GPU 上运行。",
    "Checkpoints re-saved without the MTP layer have num_nextn_predict_layers 0 and are refused.":
        "重新保存而不含 MTP 层的检查点，num_nextn_predict_layers 为 0，会被拒绝。",
    "Both have 128256 rows; that their ids mean the same was not read from their files. Run labkit preflight on the "
    "folders.":
        "两者都是 128256 行；编号的含义是否相同，没有从它们的文件中读出。请对文件夹运行 labkit preflight。",
    "The 1B draft is split over all 4 GPUs, so a draft step costs communication; compare with the EAGLE-3 head.":
        "1B 草稿模型分布在全部 4 块 GPU 上，因此草稿的每一步都有通信开销；请与 EAGLE-3 草稿头比较。",
    "A ninth of the target: small K, single streams.": "大小为目标模型的九分之一：用小的 K，适合单流。",
    "The head's config was not read, so nothing of it is checked here; run labkit preflight on its folder.":
        "没有读取草稿头的配置，因此这里对它没有任何检查；请对其文件夹运行 labkit preflight。",
    "Look at its window: that of the same authors' 8B head is 2048 tokens (vLLM 0.32, config/speculative.py), as is "
    "that of LMSYS' head for this target (sgl-project/sglang issue 6783). Beyond it vLLM 0.24 crashes; in 0.32 model "
    "runner V1 stops drafting for a whole batch, V2 drafts on.":
        "请查看它的窗口：同一作者的 8B 草稿头为 2048 个词元（vLLM 0.32，config/speculative.py），"
        "LMSYS 为此目标模型制作的草稿头也是如此（sgl-project/sglang issue 6783）。超出后 vLLM 0.24 会崩溃；"
        "0.32 的模型运行器 V1 对整个批次停止起草，V2 则继续起草。",
    "The head's hidden size differs from the target's and is translated by its first layer (vllm pull request 17740).":
        "草稿头的隐藏维度与目标模型不同，由其第一层转换（vllm pull request 17740）。",
    "72 billion parameters take about 144 GB in bfloat16: 2 GPUs of 141 GB hold them, 2 of 80 GB do not.":
        "720 亿个参数以 bfloat16 存放约需 144 GB：2 块 141 GB 的 GPU 放得下，2 块 80 GB 的放不下。",
    "The mapping runs on model runner V1 only and vLLM chooses that itself.":
        "映射只在模型运行器 V1 上运行，vLLM 会自己选择它。",
    "Qwen2.5-Instruct's generation config sends repetition_penalty 1.05 with every request: compare drafters with "
    "neutral penalties.":
        "Qwen2.5-Instruct 的生成配置使每个请求都带有 repetition_penalty 1.05：请用中性的惩罚项比较草稿模型。",
    "Refused twice: the sizes of the vocabularies differ by padding, and the draft's 14 attention heads cannot be "
    "divided over 4 GPUs, on which a draft model has to run as the target does.":
        "有两处会被拒绝：词表大小因填充而不同；草稿模型必须与目标模型一样在 4 块 GPU 上运行，"
        "而它的 14 个注意力头无法在其上均分。",
    "Presets qwen2.5-72b-1.5b (4 GPUs) and qwen2.5-72b-0.5b-2gpu run.":
        "预设 qwen2.5-72b-1.5b（4 块 GPU）与 qwen2.5-72b-0.5b-2gpu 可以运行。",
    "{n:n} attention heads divide over {a:n} GPUs, not over {b:n}.":
        "{n} 个注意力头可在 {a} 块 GPU 上均分，{b} 块则不行。",
    "The largest draft that fits without a mapping; a tenth of the target, so K pays only while most proposals are "
    "accepted.":
        "无需映射就相符的最大草稿模型；大小为目标模型的十分之一，因此只有大部分草稿被接受时，增大 K 才划算。",
    "Another family, another tokenizer: what the draft proposes means something else to the target, and nothing useful "
    "is accepted.":
        "系列不同，分词器也不同：草稿模型提出的编号对目标模型是别的含义，接受的都没有用处。",
    "\"use_heterogeneous_vocab\": true would keep it lossless and restrict the draft to common tokens; a Qwen draft is "
    "better.":
        "\"use_heterogeneous_vocab\": true 会保持无损，并把草稿模型限于共有的词元；用 Qwen 草稿模型更好。",
    "That both have one tokenizer was not read from their files; vLLM serves Qwen3-32B with Qwen3-1.7B with good "
    "acceptance (pull request 24322). Run labkit preflight on the folders.":
        "两者的分词器是否相同，没有从它们的文件中读出；vLLM 用 Qwen3-1.7B 为 Qwen3-32B 起草，接受情况良好"
        "（pull request 24322）。请对文件夹运行 labkit preflight。",
    "A Qwen2.5 draft is not the same: its tokens end at 151664, and Qwen3 has more behind, <think> and </think> among "
    "them.":
        "Qwen2.5 草稿模型并不相同：它的词元到 151664 为止，Qwen3 在其后还有更多，<think> 与 </think> 就在其中。",
    "A model small enough for a CPU; `labkit models demo` makes it once. Its speedups say nothing about large models.":
        "小到可以用 CPU 运行的模型；`labkit models demo` 会生成它，只需一次。它的加速比不能说明大模型的情况。",
}  # fmt: skip

_LABELS = {
    # headings
    "level": "级别", "rule": "规则", "message": "内容", "about": "关于", "versions": "版本", "runner": "运行器",
    "state": "状态",
    "tokenizer": "分词器", "differing ids": "不同的编号",
    # what stands under them
    "ok": "通过", "warn": "警告", "supported": "支持", "inert": "没有效果", "unsupported": "不支持", "both": "两者",
    "not looked at": "未检查", "same": "相同", "padding_only": "仅填充不同", "first to {high:n}": "{high} 及更早",
    "{low:n} to last": "{low} 及更新",
    "The form needs a kernel: open this notebook in JupyterLab.": "此表单需要内核：请在 JupyterLab 中打开本笔记本。",
}  # fmt: skip

LAUNCHING = {**_ABOUT, **_HELD, **_CAVEATS, **_LABELS}
