import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { messageOf } from '../../../../src/core/errors.ts'
import type { Truncation } from '../../../../src/inference/port/transforms.ts'
import {
  type TextLimit,
  TextTokenizer,
} from '../../../../src/inference/transforms/text-tokenizer.ts'
import { needs } from '../../../run/needs.ts'
import { pythonWith } from '../../../services/python-packages.ts'

/*
 * The tokens of each kind of tokenizer beside those of the library in Rust (`tokenizers` of PyPI), which makes the tokenizers
 * of this test and the right answers: scripts of all sorts, emoji, control characters, added tokens, empty and long texts,
 * pairs of them, and each way to cut pairs.
 */

const run = promisify(execFile)
const python = await pythonWith('tokenizers==0.23.3', 'sentencepiece==0.2.3')
const SEED = 36
const TEXTS = 400

interface Tokens {
  readonly ids: readonly number[]
  readonly types: readonly number[]
}

interface Cases {
  readonly texts: readonly string[]
  readonly pairs: readonly (readonly [string, string])[]
  readonly cases: Readonly<Record<string, Readonly<Record<'texts' | 'pairs', readonly Tokens[]>>>>
  /** By the file of the tokenizer; an answer is null where the library cannot cut so far. */
  readonly cuts: Readonly<
    Record<
      string,
      readonly {
        readonly cut: Truncation
        readonly most: number
        readonly answers: readonly (Tokens | null)[]
      }[]
    >
  >
}

const WHOLE: TextLimit = { most: Number.POSITIVE_INFINITY }

/** The tokens of a text or of a pair, or why there are none. */
function encoded(
  tokenizer: TextTokenizer,
  texts: readonly string[],
  limit: TextLimit,
): Tokens | 'disguised' | null {
  try {
    const { ids, types } = tokenizer.encode(texts, limit, 0)
    return { ids, types }
  } catch (error) {
    // A token of the tokenizer after it is normalised, which is refused.
    if (messageOf(error).includes('in another writing')) return 'disguised'
    if (messageOf(error).includes('cannot cut it so far')) return null
    throw error
  }
}

describe('beside the library in Rust', needs(python, 'tokenizers cannot be installed here'), () => {
  let folder: string
  let made: Cases
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-tokens-'))
    const script = resolve('test/system/inference/states/tokenizer_tokens.py')
    const corpus = resolve('docs/guide/jobs.md')
    await run(python!, [script, folder, corpus, String(SEED), String(TEXTS)])
    made = JSON.parse(await readFile(join(folder, 'cases.json'), 'utf8')) as Cases
  }, 600_000)
  afterAll(() => rm(folder, { recursive: true }))

  const open = (kind: string): Promise<TextTokenizer> =>
    TextTokenizer.open(join(folder, `${kind}.json`))

  it.each(['texts', 'pairs'] as const)(
    '%s have its tokens, with each kind of tokenizer',
    async (what) => {
      expect(Object.keys(made.cases).length).toBe(13)
      let disguised = 0
      for (const [kind, { [what]: wanted }] of Object.entries(made.cases)) {
        const tokenizer = await open(kind)
        let compared = 0
        for (const [i, one] of made[what].entries()) {
          const texts = typeof one === 'string' ? [one] : one
          // A text without tokens is refused, so there is nothing to compare.
          if (wanted[i]!.ids.length === 0) continue
          const found = encoded(tokenizer, texts, WHOLE)
          if (found === 'disguised') {
            // Brackets of full width around "/s", which a normalizer makes a token of the tokenizer.
            expect(texts.join()).toContain('＜/s＞')
            disguised += 1
            continue
          }
          expect({ kind, texts, ...found }).toEqual({ kind, texts, ...wanted[i]! })
          compared += 1
        }
        expect(compared).toBeGreaterThan(0.8 * TEXTS)
      }
      // Few: each is a text by itself, or what stands between two tokens.
      expect(disguised).toBeGreaterThan(0)
      expect(disguised).toBeLessThan(0.02 * 13 * made[what].length)
    },
  )

  it('pairs are cut as it cuts them, from both sides, or not where it cannot', async () => {
    const seen = { compared: 0, impossible: 0 }
    for (const [kind, cuts] of Object.entries(made.cuts)) {
      const tokenizer = await open(kind)
      for (const { cut, most, answers } of cuts) {
        for (const [i, wanted] of answers.entries()) {
          const texts = made.pairs[i]!
          if (wanted?.ids.length === 0) continue
          const found = encoded(tokenizer, texts, { most, cut })
          if (found === 'disguised') continue
          expect({ kind, cut, most, texts, found }).toEqual({
            kind,
            cut,
            most,
            texts,
            found: wanted,
          })
          seen[wanted === null ? 'impossible' : 'compared'] += 1
        }
      }
    }
    expect(seen.compared).toBeGreaterThan(3000)
    expect(seen.impossible).toBeGreaterThan(500)
  })
})
