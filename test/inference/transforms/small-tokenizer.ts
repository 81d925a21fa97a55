/** Words of the small tokenizer, in the order of their ids. */
export const WORDS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'good', 'bad', 'film', '##s', 'not', '!']

/** A tokenizer.json of BERT's kind with ten words: `[CLS] text [SEP]`, and of pairs `[CLS] text [SEP] text [SEP]`, padded with 0. */
export function smallTokenizer(changes: Readonly<Record<string, unknown>> = {}): object {
  const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'].map((content, id) => ({
    id,
    content,
    special: true,
  }))
  return {
    version: '1.0',
    truncation: { direction: 'Right', max_length: 6, strategy: 'LongestFirst', stride: 0 },
    padding: {
      strategy: 'BatchLongest',
      direction: 'Right',
      pad_id: 0,
      pad_type_id: 0,
      pad_token: '[PAD]',
    },
    added_tokens: special,
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '[CLS]', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '[SEP]', type_id: 0 } },
      ],
      pair: [
        { SpecialToken: { id: '[CLS]', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '[SEP]', type_id: 0 } },
        { Sequence: { id: 'B', type_id: 1 } },
        { SpecialToken: { id: '[SEP]', type_id: 1 } },
      ],
      special_tokens: {},
    },
    decoder: null,
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    },
    ...changes,
  }
}
