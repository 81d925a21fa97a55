"""Writes tokenizers of each kind that Weir takes, and the tokens that the library in Rust makes of hard texts.

Usage: tokenizer_tokens.py FOLDER CORPUS SEED COUNT
"""

import io
import json
import random
import sys
from pathlib import Path

import sentencepiece
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

folder, corpus_file, seed, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
FOREIGN = [
    "日本語のテキスト 東京 こんにちは",
    "Привет мир как дела",
    "مرحبا بالعالم",
    "Ünïcödé çafé naïve Straße",
    "😀😃🎉 👩‍👩‍👧‍👦",
    "ΟΔΟΣ οδός",
]
CORPUS = Path(corpus_file).read_text(encoding="utf-8").split("\n") + FOREIGN * 20
BERT = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BYTES = pre_tokenizers.ByteLevel.alphabet()
LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def bert(**options):
    one = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    one.normalizer = normalizers.BertNormalizer(**options)
    one.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    one.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=1000, special_tokens=BERT))
    one.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return one


def bert_processing():
    one = bert(lowercase=False, strip_accents=False)
    one.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return one


def bytes_bpe(before, after):
    one = Tokenizer(models.BPE())
    one.pre_tokenizer = before
    trainer = trainers.BpeTrainer(vocab_size=1000, special_tokens=ROBERTA, initial_alphabet=BYTES)
    one.train_from_iterator(CORPUS, trainer)
    if after is not None:
        one.post_processor = after
    return one


def llama3():
    before = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    start = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)]
    )
    after = processors.Sequence([processors.ByteLevel(trim_offsets=False), start])
    return bytes_bpe(before, after)


def llama2():
    one = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    one.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    special = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=1000, special_tokens=special, max_token_length=16)
    one.train_from_iterator(CORPUS, trainer)
    return one


def clip():
    one = Tokenizer(models.BPE(unk_token="<|end|>", end_of_word_suffix="</w>"))
    one.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    one.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CLIP), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|start|>", "<|end|>"],
        initial_alphabet=BYTES,
        end_of_word_suffix="</w>",
    )
    one.train_from_iterator(CORPUS, trainer)
    one.post_processor = processors.RobertaProcessing(
        ("<|end|>", 1), ("<|start|>", 0), add_prefix_space=False, trim_offsets=False
    )
    return one


def unigram():
    one = Tokenizer(models.Unigram())
    one.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    )
    one.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=800, special_tokens=ROBERTA, unk_token="<unk>")
    one.train_from_iterator(CORPUS, trainer)
    return one


def fields(message):
    """The fields of a protobuf message that have a length, by number."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        number, wire = key >> 3, key & 7
        if wire == 0:
            varint()
        elif wire == 2:
            length = varint()
            yield number, message[at : at + length]
            at += length
        else:
            at += 8 if wire == 1 else 4


def charsmap(rule):
    """The map of characters that SentencePiece puts into a model: T5 and XLM-R have that of nmt_nfkc."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in CORPUS if line.strip()),
        model_writer=written,
        vocab_size=300,
        hard_vocab_limit=False,
        normalization_rule_name=rule,
        minloglevel=2,
    )
    spec = dict(fields(written.getvalue()))[3]
    return dict(fields(spec))[2]


def sentences(rule, before, *further):
    one = Tokenizer(models.Unigram())
    one.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap(rule)), *further])
    one.pre_tokenizer = before
    trainer = trainers.UnigramTrainer(vocab_size=800, special_tokens=ROBERTA, unk_token="<unk>")
    one.train_from_iterator(CORPUS, trainer)
    one.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)]
    )
    return one


def t5():
    splits = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    return sentences("nmt_nfkc", pre_tokenizers.Sequence(splits))


def xlm_roberta():
    joined = normalizers.Replace(Regex(" {2,}"), " ")
    return sentences("nmt_nfkc", pre_tokenizers.Metaspace(), joined)


def words():
    one = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    one.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    )
    one.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)]
    )
    one.train_from_iterator(
        CORPUS, trainers.WordLevelTrainer(vocab_size=1000, special_tokens=BERT)
    )
    return one


def characters():
    one = Tokenizer(models.BPE(unk_token="[UNK]"))
    one.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits()]
    )
    ascii_only = [line for line in CORPUS if line.isascii()]
    one.train_from_iterator(ascii_only, trainers.BpeTrainer(vocab_size=600, special_tokens=BERT))
    return one


KINDS = {
    "bert": bert,
    "bert-cased": bert_processing,
    "roberta": lambda: bytes_bpe(
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        processors.RobertaProcessing(("</s>", 2), ("<s>", 0)),
    ),
    "gpt2": lambda: bytes_bpe(pre_tokenizers.ByteLevel(add_prefix_space=True), None),
    "llama3": llama3,
    "llama2": llama2,
    "clip": clip,
    "unigram": unigram,
    "t5": t5,
    "xlm-roberta": xlm_roberta,
    "albert": lambda: sentences("nmt_nfkc_cf", pre_tokenizers.Metaspace()),
    "words": words,
    "characters": characters,
}

POOL = [
    "a", "Z", "0", "7", " ", "  ", "\t", "\n", "\r\n", ".", ",", "!", "'s", "don't", "é", "e\u0301",
    "ß", "İ", "ﬁ", "Ⅷ", "½", "漢", "字", "한국어", "ไทย", "हिन्दी", "عربى", "עברית", "😀", "👩‍👩‍👧‍👦", "🇩🇪",
    "\u200b", "\u200d", "\u00ad", "\ufeff", "\0", "\x01", "\x7f", "\x85", "\u2028", "\u3000", "\u00a0",
    "\ue000", "\U000f0000", "\U0010ffff", "\ufffd", "𝔘", "𠀀", "𪜀", "[MASK]", "[mask]", "<mask>", "</s>",
    "▁", "_", "##ing", "stream", "Processing", "the", "checkpoint", "-", "—", "“q”", "@user", "#tag",
    "http://x.y/z?q=1", "1,234.56", "CamelCase", "`code`", "\\n", '{"a":1}', "ǅ", "ŉ", "Ω", "℃", "ΣΑΣ",
    "i̇", "ŒUVRE", "$&", "٣", "²", "ｶﾞ", "＜/s＞", "①", "e\u0301\u0323", "क्ष", "\r\u0301", "～", "𝟘", "ㅎㅏㄴ",
    "각", "🏳️‍🌈", "1️⃣", "\u0600a", "a\u0308\u200d",
]  # fmt: skip
chance = random.Random(seed)
texts = ["", " ", "\n", "Hello, World! It's 2026.", *POOL]
for number in range(count):
    parts = (chance.choice(POOL) for _ in range(chance.randint(1, 40)))
    texts.append((" " if number % 4 == 0 else "").join(parts))
texts += ["a" * 5000, "word " * 5000, "漢" * 2000, "😀" * 2000]


def tokens(one):
    return {"ids": one.ids, "types": one.type_ids}


def cut_pairs(tokenizer, pairs):
    """The tokens of each pair with each way to cut; null where the library cannot cut so far."""
    for strategy in ("longest_first", "only_first", "only_second"):
        for most in (6, 9, 32):
            tokenizer.enable_truncation(most, strategy=strategy, direction=direction_of(tokenizer))
            answers = []
            for first, second in pairs:
                try:
                    answers.append(tokens(tokenizer.encode(first, second)))
                except Exception:
                    answers.append(None)
            yield {"cut": strategy.replace("_", "-"), "most": most, "answers": answers}


def direction_of(tokenizer):
    return (tokenizer.truncation or {}).get("direction", "right")


pairs = [[chance.choice(texts[:-4]), chance.choice(texts[:-4])] for _ in range(count)]
cases, cuts = {}, {}
for kind, make in KINDS.items():
    tokenizer = make()
    tokenizer.save(str(folder / f"{kind}.json"))
    cases[kind] = {
        "texts": [tokens(tokenizer.encode(text)) for text in texts],
        "pairs": [tokens(tokenizer.encode(*pair)) for pair in pairs],
    }
    if kind in ("bert", "bert-cased", "roberta", "gpt2"):
        cuts[kind] = list(cut_pairs(tokenizer, pairs[:100]))
        tokenizer.enable_truncation(512, direction="left")
        tokenizer.save(str(folder / f"{kind}-left.json"))
        cuts[f"{kind}-left"] = list(cut_pairs(tokenizer, pairs[:100]))
written = {"texts": texts, "pairs": pairs, "cases": cases, "cuts": cuts}
(folder / "cases.json").write_text(json.dumps(written), encoding="utf-8")
