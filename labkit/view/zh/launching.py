"""What is said before a launch: the rules (data/rules.yaml), what a command became, caveats of presets."""

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

_SAYS = {
    # vocabulary and tokenizer
    "Nothing is known here of {models}, so what depends on it was not looked at. Its config and tokenizer are enough: "
    "hf download {first} --include '*.json' '*.model' '*.txt'.":
        "此处对 {models} 一无所知，因此没有检查与其有关的内容。有它的配置与分词器就够了："
        "hf download {first} --include '*.json' '*.model' '*.txt'。",
    "{count:n} ids mean other tokens to the draft than to the target (ids {ids:n}; {examples}). What the draft "
    "proposes is accepted by accident only, or read wrongly; no version of vLLM compares tokens. Take a draft of the "
    "target's own family; with method draft_model, \"use_heterogeneous_vocab\": true maps the tokens both have.":
        "{count} 个编号对草稿模型与对目标模型是不同的词元（编号 {ids}；{examples}）。草稿模型提出的词元只会偶然被接受，"
        "或被误读；没有任何版本的 vLLM 会比较词元。请改用与目标模型同一系列的草稿模型；方法为 draft_model 时，"
        "\"use_heterogeneous_vocab\": true 会映射两者共有的词元。",
    "{count:n} special ids mean other tokens to the draft than to the target (ids {ids:n}; {examples}). What the draft "
    "proposes is accepted by accident only, or read wrongly; no version of vLLM compares tokens. Take a draft of the "
    "target's own family; with method draft_model, \"use_heterogeneous_vocab\": true maps the tokens both have.":
        "{count} 个特殊编号对草稿模型与对目标模型是不同的词元（编号 {ids}；{examples}）。"
        "草稿模型提出的词元只会偶然被接受，或被误读；没有任何版本的 vLLM 会比较词元。"
        "请改用与目标模型同一系列的草稿模型；方法为 draft_model 时，"
        "\"use_heterogeneous_vocab\": true 会映射两者共有的词元。",
    "Whether ids mean the same to both was not compared: the tokenizer files of both are not here.":
        "没有比较编号对两者的含义是否相同：两者的分词器文件不在这里。",
    "Whether ids mean the same to both was not compared: the target {model} has no tokenizer that labkit reads.":
        "没有比较编号对两者的含义是否相同：目标模型 {model} 没有 labkit 能读的分词器。",
    "Whether ids mean the same to both was not compared: the draft {model} has no tokenizer that labkit reads.":
        "没有比较编号对两者的含义是否相同：草稿模型 {model} 没有 labkit 能读的分词器。",
    "Every id means the same, but the draft's own tokenizer cuts only {rates} of the sample's tokens as the target's "
    "does (differing: {parts}). It runs; how much the draft, trained on other cuts, gets accepted is to be measured.":
        "每个编号的含义相同，但草稿模型自己的分词器对样本词元的切分只有 {rates} 与目标模型相同（不同的部分：{parts}）。"
        "它可以运行；草稿模型按另一种切分训练，能被接受多少需要实测。",
    "vocab_size {target:n} of the target and {draft:n} of the draft differ ({why}) and vLLM refuses that. Ways out: "
    "\"use_heterogeneous_vocab\": true in the speculative config, or a copy of the draft whose embedding and head rows "
    "are padded to {target}, or a draft with {target} rows.":
        "目标模型的 vocab_size {target} 与草稿模型的 {draft} 不同（{why}），vLLM 会拒绝。办法：在推测配置中设 "
        "\"use_heterogeneous_vocab\": true，或使用嵌入层与输出层的行数填充到 {target} 的草稿模型副本，"
        "或使用 {target} 行的草稿模型。",
    "Tokens are mapped by their text and the draft is kept to those both have ({differing:n} ids differ); lossless, on "
    "model runner V1, with greedy drafts.":
        "词元按文本映射，草稿模型只用两者共有的词元（{differing} 个编号不同）；无损，在模型运行器 V1 上，草稿为贪心。",
    "Tokens are mapped by their text and the draft is kept to those both have (an unknown number of ids differ); "
    "lossless, on model runner V1, with greedy drafts.":
        "词元按文本映射，草稿模型只用两者共有的词元（不同编号的数目未知）；无损，在模型运行器 V1 上，草稿为贪心。",
    "use_heterogeneous_vocab works with method draft_model and greedy drafts only; got method {method:s} and "
    "{sampled:s} drafts.":
        "use_heterogeneous_vocab 只能用于方法 draft_model 与贪心的草稿；得到的是方法 {method}，draft_sample_method 为 "
        "{sampled}。",
    "The head proposes {size:n} of the target's {target:s} tokens, mapped by d2t; how many of a text's tokens that "
    "covers is not known here.":
        "草稿头从目标模型的 {target} 个词元中提出 {size} 个，由 d2t 映射；它们覆盖文本词元的多少，此处未知。",
    "The head proposes {size:n} of the target's {target:s} tokens, mapped by d2t; of the sample's tokens it covers "
    "{en:s} (en), {zh:s} (zh).":
        "草稿头从目标模型的 {target} 个词元中提出 {size} 个，由 d2t 映射；它们覆盖样本词元的 {en}（en）、{zh}（zh）。",
    "The head's reduced vocabulary does not fit the target: {why}. It was made for another target; get the right head.":
        "草稿头的缩减词表与目标模型不符：{why}。它是为另一目标模型制作的；请取得正确的草稿头。",
    "The head was made for a vocabulary of {head:n} tokens, the target has {target:n}. Padding alone may be the "
    "reason; check that the head was trained for this very target.":
        "草稿头是为 {head} 个词元的词表制作的，目标模型有 {target} 个。可能只是填充所致；"
        "请确认它正是为这个目标模型训练的。",
    # method and draft
    "vLLM would run method {method:s}, not {asked:s}: it takes the method from the path {draft} or the draft's config. "
    "Rename the folder, or name the method that is meant.":
        "vLLM 会运行方法 {method}，而不是 {asked}：它从路径 {draft} 或草稿模型的配置得出方法。"
        "请给文件夹改名，或写明所要的方法。",
    "{draft:s} is a head ({architecture}), which needs the target's hidden states; as a draft model it proposes "
    "nonsense (acceptance length near 1). Name the method it was trained for, for example eagle3.":
        "{draft} 是草稿头（{architecture}），需要目标模型的隐藏状态；当作草稿模型时，它提出的词元毫无意义"
        "（接受长度接近 1）。请写明训练它所用的方法，例如 eagle3。",
    "vLLM has no {method:s} head of architecture {architecture:s}; it has those of data/rules.yaml, {method}_heads. A "
    "whole model is a draft_model.":
        "vLLM 没有架构为 {architecture} 的 {method} 草稿头；它有的列在 data/rules.yaml 的 {method}_heads 中。"
        "完整的模型属于 draft_model。",
    "{architecture:s} is not known to hand its inner hidden states to an EAGLE-3 head; vLLM says so only after loading "
    "(\"Model does not support EAGLE3 interface\").":
        "不知道 {architecture} 是否会把中间隐藏状态交给 EAGLE-3 草稿头；vLLM 在加载之后才会说明"
        "（\"Model does not support EAGLE3 interface\"）。",
    "The head reads hidden states of size {head:n}, the target has {target:n}. A head works only with the target it "
    "was trained for.":
        "草稿头读取的隐藏状态维度为 {head}，目标模型为 {target}。草稿头只能与训练它所用的目标模型一起工作。",
    "The checkpoint ({model}) has no MTP layers that vLLM knows. Use another method.":
        "检查点（{model}）没有 vLLM 认得的 MTP 层。请用其他方法。",
    "The checkpoint ({model}) has no MTP of this family that vLLM knows. Use another method.":
        "检查点（{model}）所属的系列没有 vLLM 认得的 MTP。请用其他方法。",
    "K = {k:n} is no multiple of the {layers:n} MTP layers of the checkpoint; take one.":
        "K = {k} 不是检查点 {layers} 个 MTP 层的倍数；请取其倍数。",
    "K = {k:n} is deeper than the {layers:n} MTP layers that were trained: the same layers run again and each further "
    "token is accepted less. How much less is to be measured; K = {layers} is safe.":
        "K = {k} 深于训练过的 {layers} 个 MTP 层：同样的层会再次运行，每多一个词元就接受得更少。"
        "少多少需要实测；K = {layers} 是安全的。",
    "vLLM has draft models.": "vLLM 支持草稿模型。",
    "vLLM 0.10 to 0.13 have no draft models (\"not supported yet\"). Upgrade, or use ngram or an EAGLE head.":
        "vLLM 0.10 至 0.13 不支持草稿模型（\"not supported yet\"）。请升级，或使用 ngram 或 EAGLE 草稿头。",
    "vLLM has MLP speculators.": "vLLM 支持 MLP 推测器。",
    "The configuration is accepted, but no model runner has MLP speculators: the worker ends with \"Unknown "
    "speculative decoding method\". Use another method.":
        "配置会被接受，但没有模型运行器支持 MLP 推测器：工作进程以 \"Unknown speculative decoding method\" 结束。"
        "请用其他方法。",
    "Suffix decoding needs arctic-inference==0.1.1 beside vLLM, which is built from source where it has no wheel; "
    "whether the server has it is not known here.":
        "除 vLLM 外，后缀解码还需要 arctic-inference==0.1.1，没有预编译包时要从源码构建；此处不知道服务器是否装有它。",
    "ngram needs prompt_lookup_max.": "ngram 需要 prompt_lookup_max。",
    "Without prompt_lookup_min and prompt_lookup_max, ngram looks for 5 tokens exactly; 2 to 4 find more.":
        "没有给出 prompt_lookup_min 与 prompt_lookup_max 时，ngram 只查找恰好 5 个词元；2 至 4 个能找到更多。",
    "ngram needs 1 ≤ prompt_lookup_min ≤ prompt_lookup_max; got {low:s} and {high:s}.":
        "ngram 需要 1 ≤ prompt_lookup_min ≤ prompt_lookup_max；得到的是 {low} 与 {high}。",
    # K
    "vLLM refuses num_speculative_tokens 0. The baseline has no speculative config; with a drafter K is 1 or more.":
        "vLLM 拒绝 num_speculative_tokens 0。基线没有推测配置；有草稿模型时 K 至少为 1。",
    "K is not given. vLLM takes the checkpoint's number of MTP layers, and some versions crash; give K.":
        "没有给出 K。vLLM 取检查点的 MTP 层数，有些版本会崩溃；请给出 K。",
    # parallelism
    "The draft's tensor parallel size can be 1 or the target's {tp:n}; got {draft_tp:n}. Leave it out to get the "
    "target's.":
        "草稿模型的张量并行数只能是 1 或目标模型的 {tp}；得到的是 {draft_tp}。不写它即与目标模型相同。",
    "The draft model runs on {draft_tp:n} of {tp:n} GPUs.": "草稿模型在 {tp} 块 GPU 中的 {draft_tp} 块上运行。",
    "A draft model needs the target's tensor parallel size: got draft {draft_tp:n}, target {tp:n}. Leave "
    "draft_tensor_parallel_size out.":
        "草稿模型需要与目标模型相同的张量并行数：草稿模型为 {draft_tp}，目标模型为 {tp}。"
        "请去掉 draft_tensor_parallel_size。",
    "Model runner V2 checks no draft tensor parallel size (got {draft_tp:n} for {tp:n}) and loads the draft in the "
    "target's group; what comes of it is not known. Leave draft_tensor_parallel_size out.":
        "模型运行器 V2 不检查草稿模型的张量并行数（得到 {draft_tp}，目标模型为 {tp}），"
        "并把草稿模型加载到目标模型的组中；结果如何未知。请去掉 draft_tensor_parallel_size。",
    "draft tensor parallel size 1 is accepted but has no effect: the {method:s} head runs on all {tp:n} GPUs.":
        "草稿模型的张量并行数 1 会被接受，但没有效果：{method} 草稿头在全部 {tp} 块 GPU 上运行。",
    "The target's {heads:n} attention heads cannot be divided over {tp:n} GPUs; take a tensor parallel size that "
    "divides them.":
        "目标模型的 {heads} 个注意力头无法在 {tp} 块 GPU 上均分；请取能整除它的张量并行数。",
    "The draft's {heads:n} attention heads cannot be divided over {tp:n} GPUs, on which the draft runs; take another "
    "draft or a tensor parallel size that divides both.":
        "草稿模型在 {tp} 块 GPU 上运行，而它的 {heads} 个注意力头无法在其上均分；请换一个草稿模型，"
        "或取能整除两者的张量并行数。",
    "vLLM cannot combine speculation with pipeline parallelism (got {pp:n} stages). Use tensor parallelism.":
        "vLLM 不能同时使用推测解码与流水线并行（得到 {pp} 个阶段）。请用张量并行。",
    "{pp:n} pipeline stages with {method:s}: nothing refuses it, the drafter runs on the last stage, and whether it "
    "works is not known (reports of crashes and wrong text). Use tensor parallelism, or audit the output.":
        "{pp} 个流水线阶段与 {method} 同用：不会被拒绝，草稿模型在最后一个阶段运行，能否正常工作未知"
        "（有崩溃与错误文本的报告）。请用张量并行，或审计输出。",
    "{architecture:s} hands its inner hidden states from stage to stage ({pp:n} stages).":
        "{architecture} 会逐阶段传递中间隐藏状态（{pp} 个阶段）。",
    "{pp:n} pipeline stages with {method:s} work on model runner V2; whether they do on V1 is not known. Set "
    "VLLM_USE_V2_MODEL_RUNNER=1.":
        "{pp} 个流水线阶段与 {method} 同用时，模型运行器 V2 可以工作；V1 是否可以未知。"
        "请设 VLLM_USE_V2_MODEL_RUNNER=1。",
    "{architecture:s} does not hand its inner hidden states from stage to stage, so {method:s} cannot run over {pp:n} "
    "stages. Use tensor parallelism.":
        "{architecture} 不会逐阶段传递中间隐藏状态，因此 {method} 无法跨 {pp} 个阶段运行。请用张量并行。",
    "num_speculative_tokens_per_batch_size is accepted but has no effect with {dp:n} data-parallel engines: K stays "
    "{k:s}.":
        "num_speculative_tokens_per_batch_size 会被接受，但在 {dp} 个数据并行引擎上没有效果：K 仍为 {k}。",
    "Whether a K schedule pays is not known until it was measured itself, at its thresholds ({thresholds}), one below "
    "and one above: one collapsed there. On model runner V1 it also gives up full CUDA graphs.":
        "K 调度表是否划算，要在其阈值（{thresholds}）处、低一个与高一个处实测之后才知道：曾有一个在那里急剧变慢。"
        "在模型运行器 V1 上，它还会放弃完整的 CUDA 图。",
    "num_speculative_tokens_per_batch_size: {why}; for example [[1, 4, 3], [5, 64, 1]].":
        "num_speculative_tokens_per_batch_size：{why}；例如 [[1, 4, 3], [5, 64, 1]]。",
    # runner, graphs, memory
    "Model runner V2 has {method:s} (ngram as its GPU version).":
        "模型运行器 V2 支持 {method}（ngram 为其 GPU 版本）。",
    "Model runner V2 does not have {lacks}, and is refused when forced; leave VLLM_USE_V2_MODEL_RUNNER out.":
        "模型运行器 V2 没有{lacks}，强制使用它时会被拒绝；请不要设 VLLM_USE_V2_MODEL_RUNNER。",
    "dspark runs on model runner V2 only, which needs Triton; set VLLM_USE_V2_MODEL_RUNNER=1.":
        "dspark 只在模型运行器 V2 上运行，它需要 Triton；请设 VLLM_USE_V2_MODEL_RUNNER=1。",
    "A decode step has K + 1 = {needed:n} tokens a request, the largest CUDA graph {size:n}: vLLM finds no valid size. "
    "Raise max_cudagraph_capture_size to {needed} or more.":
        "解码的一步每个请求有 K + 1 = {needed} 个词元，最大的 CUDA 图为 {size}：vLLM 找不到有效的大小。"
        "请把 max_cudagraph_capture_size 提高到 {needed} 或更大。",
    "No CUDA graph of {size:n} tokens holds one request's {needed:n}; decoding would run without graphs, slower.":
        "{size} 个词元的 CUDA 图容不下一个请求的 {needed} 个；解码将不用图运行，更慢。",
    "{seqs:n} requests × {each:n} tokens = {widest:n} a step, CUDA graphs are captured up to {size:n}: from {fits:n} "
    "running requests on steps run without graphs. How much that costs is to be measured; raise "
    "max_cudagraph_capture_size to {widest} or lower max_num_seqs.":
        "{seqs} 个请求 × {each} 个词元 = 每步 {widest} 个，CUDA 图捕获到 {size}：从 {fits} 个运行中的请求起，"
        "各步不用图运行。代价多大需要实测；请把 max_cudagraph_capture_size 提高到 {widest}，或降低 max_num_seqs。",
    "max_num_batched_tokens {tokens:n} leaves no slot beside the {slots:n} that drafting takes; raise it.":
        "max_num_batched_tokens {tokens} 除起草占用的 {slots} 个外没有余位；请提高它。",
    "The drafter does not use the target's LoRA adapter. It runs and stays lossless; how much of a base model's "
    "proposals an adapter accepts is to be measured per adapter.":
        "草稿模型不使用目标模型的 LoRA 适配器。它可以运行，并保持无损；适配器会接受多少基础模型的草稿，"
        "需要对每个适配器实测。",
    "With LoRA, max_num_batched_tokens must be at least max_num_seqs × (K + 1) = {seqs:n} × {each:n} = {needed:n}; got "
    "{tokens:n}.":
        "使用 LoRA 时，max_num_batched_tokens 至少为 max_num_seqs × (K + 1) = {seqs} × {each} = {needed}；"
        "得到的是 {tokens}。",
    "About {left:n} of {total:n} GiB are left beside {weights:n} GiB of weights: {fits:n} tokens of KV cache, one "
    "sequence needs {needed:n} (activations and graphs not counted).":
        "{total} GiB 中除 {weights} GiB 的权重外约剩 {left} GiB：可容 {fits} 个词元的 KV 缓存，一个序列需要 {needed} 个"
        "（未计激活与图）。",
    "{total:n} GiB less {weights:n} GiB of weights leave {fits:n} tokens of KV cache, one sequence of full length "
    "needs {needed:n}. Lower max_model_len, take more GPUs or a smaller draft.":
        "{total} GiB 减去 {weights} GiB 的权重，剩下 {fits} 个词元的 KV 缓存，一个全长序列需要 {needed} 个。"
        "请降低 max_model_len，或用更多 GPU 或更小的草稿模型。",
    "The memory left for the KV cache is not known: weights or their index are not there, or the attention is not a "
    "plain one.":
        "留给 KV 缓存的显存未知：权重或其索引不在，或注意力不是普通的一种。",
    "Sequences grow to {longest:n} tokens, the draft's window is {window:n}: beyond it the server crashes. Lower "
    "max_model_len to {window}.":
        "序列会增长到 {longest} 个词元，草稿模型的窗口为 {window}：超出后服务器会崩溃。"
        "请把 max_model_len 降到 {window}。",
    "Sequences grow to {longest:n} tokens, the draft's window is {window:n}: as soon as one request is longer, nothing "
    "is drafted for the whole batch. Lower max_model_len, or take a draft with a longer window.":
        "序列会增长到 {longest} 个词元，草稿模型的窗口为 {window}：只要有一个请求更长，整个批次就都不起草。"
        "请降低 max_model_len，或换窗口更长的草稿模型。",
    "Sequences grow to {longest:n} tokens, the draft was made for {window:n}: it drafts on beyond that, and what is "
    "then accepted is not known. Measure with prompts of that length.":
        "序列会增长到 {longest} 个词元，草稿模型是为 {window} 个制作的：超出后它仍继续起草，届时能接受多少未知。"
        "请用这样长的提示实测。",
    "max_model_len {asked:n} of the draft is beyond {limit:n}, the shorter of both models' windows; lower it.":
        "草稿模型的 max_model_len {asked} 超出了 {limit}，即两个模型窗口中较短的一个；请降低它。",
    # requests
    "Drafts are checked against the grammar with backend {backend:s}; a forced token is easy or impossible to draft.":
        "草稿用后端 {backend} 按语法检查；语法强制的词元要么容易起草，要么无法起草。",
    "lm-format-enforcer refuses requests on a speculating server; take xgrammar or guidance.":
        "lm-format-enforcer 在使用推测解码的服务器上拒绝请求；请用 xgrammar 或 guidance。",
    "Requests with {names} are answered with an error on a speculating server. Leave them out, also in the model's "
    "generation_config.json (--generation-config vllm ignores it).":
        "在使用推测解码的服务器上，带有 {names} 的请求会得到错误。请去掉它们，模型的 generation_config.json 中也要去掉"
        "（--generation-config vllm 会忽略该文件）。",
    "vLLM 0.12 drafts nothing for requests with penalties (here {found}); send neutral ones to compare.":
        "vLLM 0.12 不为带惩罚项的请求起草（此处为 {found}）；要比较，请发送中性的值。",
    "Penalties ({found}) are applied while verifying; the draft does not see them and less is accepted. Send neutral "
    "ones where drafters are compared.":
        "惩罚项（{found}）在验证时应用；草稿模型看不到它们，接受得更少。比较草稿模型时请发送中性的值。",
    "disable_padded_drafter_batch does not work with {method:s}; leave it out.":
        "disable_padded_drafter_batch 不能与 {method} 同用；请去掉它。",
    "Speculation is off from {value:s} queued requests on.": "从 {value} 个排队请求起不再推测。",
    "disable_by_batch_size {value:s} is accepted but has no effect.":
        "disable_by_batch_size {value} 会被接受，但没有效果。",
    "disable_by_batch_size was accepted but had no effect since 0.10 and is refused now. Use "
    "num_speculative_tokens_per_batch_size, and measure it.":
        "disable_by_batch_size 自 0.10 起会被接受但没有效果，现在会被拒绝。请用 "
        "num_speculative_tokens_per_batch_size，并实测它。",
    "tensor_parallel_size is no key of the speculative config; the draft's is draft_tensor_parallel_size.":
        "tensor_parallel_size 不是推测配置的键；草稿模型的键是 draft_tensor_parallel_size。",
    "vLLM's speculative config has no key {key:s}.": "vLLM 的推测配置没有键 {key}。",
    "vLLM's speculative config has no key {key:s}, {other:s}.": "vLLM 的推测配置没有键 {key}、{other}。",
    "vLLM's speculative config has no key {keys}; did you mean {close:s}?.":
        "vLLM 的推测配置没有键 {keys}；是不是 {close}？",
    # version and runner
    "The rules were read from vLLM {read:s}. Of {vllm:s} only what an issue, a pull request or the documentation tells "
    "is known; what it refuses beyond that is not.":
        "规则是从 vLLM {read} 读出的。关于 {vllm}，只知道议题、合并请求或文档所说的；它此外还拒绝什么未知。",
    "What vLLM {vllm:s} does about {about} is not known. Of {where}: {says}":
        "vLLM {vllm} 如何处理“{about}”未知。关于 {where}：{says}",
    "{first} On model runner {name:s}: {rest}": "{first}在模型运行器 {name} 上：{rest}",
    # what vLLM itself answers
    "The installed vLLM accepts this configuration.": "已安装的 vLLM 接受此配置。",
}  # fmt: skip

#: As a plan's engines have it: with the name of the rule in front.
_OF_A_RULE = {f"{{rule:s}}: {says}": f"{{rule}}：{said}" for says, said in _SAYS.items()}

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

_NOTES = {
    # how the text was read
    "several servers are started; speculative_config is that of the first that speculates":
        "启动了多个服务器；speculative_config 属于其中第一个使用推测解码的",
    "read as a Python call; the command is the server with the same settings":
        "按 Python 调用读取；给出的命令是设置相同的服务器",
    "read as a YAML config; the command is the server with the same settings":
        "按 YAML 配置读取；给出的命令是设置相同的服务器",
    "in Python: speculative_config={config} in place of the settings it holds":
        "在 Python 中：以 speculative_config={config} 取代其中的设置",
    "in the file: speculative-config: {config} in place of the settings it holds":
        "在文件中：以 speculative-config: {config} 取代其中的设置",
    "no program is named: the flags were read as those of vllm serve": "没有写明程序：标志按 vllm serve 的标志读取",
    "lines that begin with a flag were joined to the command: a backslash was missing":
        "以标志开头的行已并入命令：缺少反斜杠",
    "{dash:s} before a flag's name was read as '--'": "标志名前的 {dash} 已读作 '--'",
    "JSON stood without quotes, which the shell takes apart; it is quoted now":
        "JSON 没有加引号，shell 会把它拆开；现已加上引号",
    "of several engines in the source the first was read": "源码中有多个引擎，读取的是第一个",
    "of the arguments without a name only the first two were read; name the others":
        "没有名称的参数只读取了前两个；请写明其余参数的名称",
    "**{name} was not read: its keys are not in the source": "没有读取 **{name}：它的键不在源码中",
    "{name:s} left out: it is the default": "去掉了 {name}：它是默认值",
    "{name:s} left out: {value} is the default": "去掉了 {name}：{value} 是默认值",
    "{name} is no literal: the command takes it from the shell variable ${name}":
        "{name} 不是字面量：命令从 shell 变量 ${name} 取值",
    "{text} is no literal and stands as it is: put its value in": "{text} 不是字面量，照原样保留：请填入它的值",
    # the program and its flags
    "the image {image:s} holds an earlier vLLM than {version:s}, which this command is for; take a newer tag":
        "镜像 {image} 中的 vLLM 早于此命令所用的 {version}；请用更新的标签",
    "{python} -m {module:s} → vllm, its own command": "{python} -m {module} → vllm，即它自己的命令",
    "{python} -m {module:s} → vllm serve, the server's command; it runs in the environment of that Python":
        "{python} -m {module} → vllm serve，即服务器的命令；它在该 Python 的环境中运行",
    "{python} -m {module:s} → vllm serve: the demonstration server is gone, this one speaks OpenAI's protocol":
        "{python} -m {module} → vllm serve：演示服务器已不存在，这个使用 OpenAI 的协议",
    "{name:s} kept, but it has no effect: {why}": "{name} 已保留，但没有效果：{why}",
    "there is one engine now, and the variable is gone": "现在只有一种引擎，该变量已不存在",
    "the variable is gone; today's way is --attention-backend": "该变量已不存在；现在用 --attention-backend",
    "{flag:s} kept, but every user of the machine can read it in the list of processes and every reader of this text "
    "here: put it into the environment as {variable:s}":
        "{flag} 已保留，但机器上的每个用户都能在进程列表中读到它，读到此文的人也能：请把它放入环境变量 {variable}",
    "{flag:s} kept: vLLM {version:s} does not know it and ends with an error on flags it does not know":
        "{flag} 已保留：vLLM {version} 不认得它，遇到不认得的标志会报错退出",
    "{flag:s} {text} → {new}: the flag takes no value": "{flag} {text} → {new}：该标志不带值", "left out": "去掉",
    "{flag:s} {text} → {new}: it is JSON now": "{flag} {text} → {new}：现在写成 JSON",
    "{flag:s} kept, but vLLM {version:s} has no such flag: {why}": "{flag} 已保留，但 vLLM {version} 没有该标志：{why}",
    "{flag:s} dropped: {why}": "去掉了 {flag}：{why}", "{flag:s} → {new}: {why}": "{flag} → {new}：{why}",
    "the model is given twice, as {model} and by --model; leave one of them":
        "模型给出了两次，一次为 {model}，一次用 --model；请只留一个",
    "no model is named; vLLM {version:s} would serve a default one": "没有写明模型；vLLM {version} 会使用默认的模型",
    "--model is given more than once: the last one counts": "--model 给出了多次：以最后一个为准",
    "--model {model} → {model}: vllm serve takes the model first, without a flag":
        "--model {model} → {model}：vllm serve 的模型写在最前面，不用标志",
    # speculation
    "{flag:s} is {text}: what the shell puts there was not looked at": "{flag} 为 {text}：没有检查 shell 会填入的内容",
    "{flag:s} was no JSON, which is all that vLLM takes; it is now":
        "{flag} 不是 JSON，而 vLLM 只接受 JSON；现已改成 JSON",
    "--speculative-config is given more than once: the last one counts, the others are dropped":
        "--speculative-config 给出了多次：以最后一个为准，其余已去掉",
    "--speculative-config as JSON and with dots: vLLM would use the dotted keys alone; here is both":
        "--speculative-config 既有 JSON 又有带点的键：vLLM 只会用带点的键；这里两者都有",
    "{flag:s} dropped: --speculative-config says {value} for {key:s}, and vLLM takes one of both":
        "去掉了 {flag}：--speculative-config 中的 {key} 为 {value}，vLLM 只取其一",
    "{flag:s} dropped: --speculative-config says the same for {key:s}, and vLLM takes one of both":
        "去掉了 {flag}：--speculative-config 中的 {key} 与它相同，vLLM 只取其一",
    "{flag:s} {text} dropped: it says nothing": "去掉了 {flag} {text}：它没有内容", "it says nothing": "它没有内容",
    "{flag:s} dropped: --speculative-config already has {key:s}": "去掉了 {flag}：--speculative-config 已有 {key}",
    "{flag:s} → {key:s} in --speculative-config; by itself it is gone":
        "{flag} → --speculative-config 中的 {key}；单独的该标志已不存在",
    "speculation left out: num_speculative_tokens 0 is the baseline, and vLLM refuses it as a number":
        "去掉了推测解码：num_speculative_tokens 0 就是基线，而 vLLM 拒绝这个数",
    "\"prompt_lookup_min\":1 written out: that is what versions with this flag took where none was given; vLLM "
    "{version:s} would look for prompt_lookup_max tokens exactly":
        "写明了 \"prompt_lookup_min\":1：有该标志的版本在没有给出时取这个值；vLLM {version} 则只查找恰好 "
        "prompt_lookup_max 个词元",
    "no drafter is named: vLLM refuses num_speculative_tokens without a model or a method":
        "没有写明草稿模型：没有模型或方法时，vLLM 拒绝 num_speculative_tokens",
    "num_speculative_tokens is not given; vLLM takes it from the draft's config or ends, so name it":
        "没有给出 num_speculative_tokens；vLLM 从草稿模型的配置中取值，取不到就退出，所以请写明",
    "prompt_lookup_min is not given: vLLM {version:s} takes prompt_lookup_max for it, though its documentation says 1; "
    "name it":
        "没有给出 prompt_lookup_min：vLLM {version} 用 prompt_lookup_max 代替，尽管其文档说是 1；请写明",
    "vLLM guesses the method from the draft's folder or config; say it with \"method\"":
        "vLLM 从草稿模型的文件夹或配置猜测方法；请用 \"method\" 写明",
    "draft_tensor_parallel_size kept: the target's tensor-parallel size cannot be read here, and vLLM {version:s} "
    "refuses a draft model with another":
        "draft_tensor_parallel_size 已保留：这里读不出目标模型的张量并行数，而 vLLM {version} 拒绝并行数不同的草稿模型",
    "{key} in the speculative config → {today:s}, its name in vLLM {version:s}":
        "推测配置中的 {key} → {today}，即它在 vLLM {version} 中的名称",
    "{key} in the speculative config dropped: {today:s} is there and is its name now":
        "去掉了推测配置中的 {key}：已有它现在的名称 {today}",
    "{key} in the speculative config dropped: {why}": "去掉了推测配置中的 {key}：{why}",
    "unknown key {key} in the speculative config, on which vLLM {version:s} ends with an error":
        "推测配置中有未知的键 {key}，vLLM {version} 遇到它会报错退出",
    "unknown method {method}, on which vLLM {version:s} ends with an error":
        "未知的方法 {method}，vLLM {version} 遇到它会报错退出",
    "{said}; did you mean {close:s}?": "{said}；是不是 {close}？",
    "model {model:s} → \"method\":\"ngram\", which drafts without a model":
        "模型 {model} → \"method\":\"ngram\"，它起草时不用模型",
    "method '[ngram]' → \"ngram\", its name without the brackets": "方法 '[ngram]' → \"ngram\"，即去掉方括号的名称",
    "method {method:s} → \"mtp\", one name for every model's own heads; the old ones are deprecated":
        "方法 {method} → \"mtp\"，即各模型自带草稿头的统一名称；旧名称已弃用",
    "no drafter is named, so nothing was speculated": "没有写明草稿模型，因此原本就没有推测",
    "ngram drafts without a model of its own": "ngram 起草时没有自己的模型",
    "an ngram key conflicts with a model, which drafts by itself": "ngram 的键与模型冲突，模型自己就会起草",
    "vLLM {version:s} ends with an error unless a draft model runs on as many GPUs as the target "
    "(here {a:n} and {b:n}); left out, it does":
        "草稿模型所用 GPU 数与目标模型不同时，vLLM {version} 会报错退出（这里为 {a} 与 {b}）；去掉后两者相同",
    "vLLM {version:s} takes 1 or the target's {tp:n} alone; left out, it is the target's":
        "vLLM {version} 只接受 1 或目标模型的 {tp}；去掉后与目标模型相同",
    # models that are not here
    "{folder} is not here: it is taken for {model:s}, which it is named like":
        "{folder} 不在这里：按与它同名的 {model} 处理",
    "{model}: its files are not here; looked at were the fields of its public config that labkit carries":
        "{model}：其文件不在这里；检查的是 labkit 随附的其公开配置的字段",
}  # fmt: skip

_RETIRED = {
    "it was accepted but had no effect since the V1 engine, and is refused now; to draft less under load there is "
    "num_speculative_tokens_per_batch_size, to be measured first":
        "自 V1 引擎起它会被接受但没有效果，现在会被拒绝；要在高负载下少起草，可用 "
        "num_speculative_tokens_per_batch_size，但要先实测",
    "there is one way of scoring drafts now": "现在给草稿打分只有一种方式",
    "typical acceptance changed what the target says and went with the V0 engine; rejection sampling is exact":
        "典型接受会改变目标模型的文本，已随 V0 引擎一起去除；拒绝采样是精确的",
    "log probabilities are returned where a request asks for them": "请求要求时才返回对数概率",
    "acceptance is counted with the server's other statistics": "接受情况与服务器的其他统计一起计数",
    "the drafter follows the target": "草稿模型随目标模型而定",
    "the config has no token trees any more": "配置中已没有词元树",
    "the V1 scheduler has no multi-step mode; it overlaps scheduling with the model by itself":
        "V1 调度器没有多步模式；它自己会让调度与模型运行重叠",
    "the V1 engine recomputes preempted requests and swaps nothing": "V1 引擎会重算被抢占的请求，不做换出",
    "the pool of tokenizer workers is gone": "分词器工作进程池已不存在",
    "prompt adapters are gone from vLLM; what they did is lost": "vLLM 已没有提示适配器；其作用随之失去",
    "guided decoding became structured outputs": "引导解码已改为结构化输出",
    "there is only one block manager since the first is gone": "第一种块管理器已不存在，现在只有一种",
    "the scheduler takes them from the speculative config": "调度器从推测配置中取值",
    "the V1 scheduler has no such delay": "V1 调度器没有这种延迟",
    "the V1 engine always overlaps it with the model": "V1 引擎总是让它与模型运行重叠",
    "VLLM_ENABLE_V1_MULTIPROCESSING=0 puts server and engine into one process today":
        "现在用 VLLM_ENABLE_V1_MULTIPROCESSING=0 让服务器与引擎在同一进程",
    "the engine is a process of its own, without Ray": "引擎是独立的进程，不用 Ray",
    "the same by its present name": "作用相同，用现在的名称",
    "CUDA graphs are captured by batch size, not by length": "CUDA 图按批次大小捕获，不按长度",
    "the device is that of the installed build": "设备由所安装的版本决定",
    "requests are not logged unless --enable-log-requests asks for it":
        "除非要求 --enable-log-requests，否则不记录请求",
    "--reasoning-parser alone switches it on": "只要有 --reasoning-parser 就会启用",
    "vLLM has no biases of LoRA adapters any more": "vLLM 已没有 LoRA 适配器的偏置",
    "vLLM has no added tokens of LoRA adapters any more": "vLLM 已没有 LoRA 适配器的附加词元",
    "vLLM has no Long LoRA any more": "vLLM 已没有 LongLoRA",
    "vLLM has no adapter flag for QLoRA any more; see --lora-modules":
        "vLLM 已没有 QLoRA 的适配器标志；见 --lora-modules",
    "requests cannot name logits processors any more; the server can: --logits-processors":
        "请求已不能指定 logits 处理器；服务器可以：--logits-processors",
    "vLLM reads the scales of the KV cache from the checkpoint": "vLLM 从检查点读取 KV 缓存的缩放系数",
    "a size of 0 switches it off": "大小为 0 即关闭",
    "a named backend is used for every request": "指定的后端用于每个请求",
    "the runner says what a server is for, and convert how a model is adapted":
        "--runner 说明服务器的用途，--convert 说明模型如何适配",
    "it belongs into --hf-overrides, under the key the model's config has": "它应写入 --hf-overrides，用模型配置中的键",
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

LAUNCHING = {**_ABOUT, **_SAYS, **_OF_A_RULE, **_HELD, **_NOTES, **_RETIRED, **_CAVEATS, **_LABELS}
