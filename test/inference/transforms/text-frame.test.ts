import { describe, expect, it } from 'vitest'
import { addedOf, type Frame, frameOf } from '../../../src/inference/transforms/text-frame.ts'
import type { TokenizerPart } from '../../../src/inference/transforms/tokenizer-kinds.ts'

/* The frames beside those of the library in Rust are in `test/system/inference/states/tokenizer-tokens.test.ts`. */

const idOf = (token: string): number => ['[CLS]', '[SEP]'].indexOf(token) + 101
const single = (processor: TokenizerPart | null): Frame => frameOf(processor, { count: 1, idOf })
const pair = (processor: TokenizerPart | null): Frame => frameOf(processor, { count: 2, idOf })

/** A frame as text: `a` and `b` are the places of the texts, and each part has its type behind a colon. */
const shown = (frame: Frame): string =>
  frame.map((part) => `${'text' in part ? 'ab'[part.text] : part.id}:${part.type}`).join(' ')

const ENDS = { sep: ['[SEP]', 102], cls: ['[CLS]', 101] }
const piece = (kind: string, id: string, type_id: number) => ({ [kind]: { id, type_id } })
const TEMPLATE = {
  type: 'TemplateProcessing',
  single: [piece('SpecialToken', '[CLS]', 0), piece('Sequence', 'A', 0)],
  pair: [
    piece('Sequence', 'B', 1),
    piece('SpecialToken', '[two]', 2),
    piece('Sequence', 'A', 0),
    piece('SpecialToken', '[SEP]', 0),
  ],
  special_tokens: { '[two]': { id: '[two]', ids: [7, 8], tokens: ['x', 'y'] } },
}

describe('what stands around the tokens of texts', () => {
  it.each([
    ['nothing', null, 'a:0', 'a:0 b:1'],
    ['ByteLevel', { type: 'ByteLevel' }, 'a:0', 'a:0 b:1'],
    [
      'BertProcessing',
      { type: 'BertProcessing', ...ENDS },
      '101:0 a:0 102:0',
      '101:0 a:0 102:0 b:1 102:1',
    ],
    [
      'RobertaProcessing',
      { type: 'RobertaProcessing', ...ENDS },
      '101:0 a:0 102:0',
      '101:0 a:0 102:0 102:0 b:0 102:0',
    ],
    ['a template', TEMPLATE, '101:0 a:0', 'b:1 7:2 8:2 a:0 102:0'],
    [
      'a sequence',
      { type: 'Sequence', processors: [{ type: 'ByteLevel' }, TEMPLATE] },
      '101:0 a:0',
      'b:1 7:2 8:2 a:0 102:0',
    ],
  ])('is that of %s', (_, processor, ofOne, ofTwo) => {
    expect([shown(single(processor)), shown(pair(processor))]).toEqual([ofOne, ofTwo])
  })

  it('counts as added', () => {
    expect(addedOf(pair(TEMPLATE))).toBe(3)
    expect(addedOf(single(null))).toBe(0)
  })

  it.each([
    ['no template for pairs', { ...TEMPLATE, pair: [] }, 'has no template for pairs'],
    ['no template at all', { type: 'TemplateProcessing' }, 'has no template for pairs'],
    [
      'a template that has a text twice',
      { ...TEMPLATE, pair: [...TEMPLATE.pair, piece('Sequence', 'B', 1)] },
      'each text of a pair',
    ],
    [
      'two parts that add tokens',
      { type: 'Sequence', processors: [TEMPLATE, { type: 'BertProcessing', ...ENDS }] },
      'several parts that add tokens',
    ],
  ])('is refused where there is %s', (_, processor, message) => {
    expect(() => pair(processor)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
    expect(() => pair(processor)).toThrow(message)
  })

  it('is refused where its tokens have no ids', () => {
    const processor = { type: 'BertProcessing', sep: ['[SEP]'] }
    expect(() => pair(processor)).toThrow(expect.objectContaining({ code: 'MALFORMED_DATA' }))
  })
})
