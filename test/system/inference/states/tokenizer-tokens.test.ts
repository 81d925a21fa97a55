import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { messageOf } from '../../../../src/core/errors.ts'
import {
  type TextLimit,
  TextTokenizer,
  type TextTokens,
} from '../../../../src/inference/transforms/text-tokenizer.ts'
import { needs } from '../../../run/needs.ts'
import { pythonWith } from '../../../services/python-packages.ts'

/*
 * The tokens of each kind of tokenizer beside those of the library in Rust (`tokenizers` of PyPI), which makes the tokenizers
 * of this test and the right answers: scripts of all sorts, emoji, control characters, added tokens, empty and long texts.
 */

const run = promisify(execFile)
const python = await pythonWith('tokenizers==0.23.3', 'sentencepiece==0.2.3')
const SEED = 36
const TEXTS = 400

interface Cases {
  readonly texts: readonly string[]
  readonly cases: Readonly<
    Record<
      string,
      readonly { readonly ids: readonly number[]; readonly types: readonly number[] }[]
    >
  >
}

/** The tokens of a text; `disguised` where it is refused because its normalised form is a token of the tokenizer. */
function encoded(
  tokenizer: TextTokenizer,
  text: string,
  { limit, index }: { readonly limit: TextLimit; readonly index: number },
): TextTokens | 'disguised' {
  try {
    return tokenizer.encode(text, limit, index)
  } catch (error) {
    if (messageOf(error).includes('in another writing')) return 'disguised'
    throw error
  }
}

it(
  'texts have the tokens that the library in Rust makes of them, with each kind of tokenizer',
  needs(python, 'tokenizers cannot be installed here'),
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-tokens-'))
    try {
      const script = resolve('test/system/inference/states/tokenizer_tokens.py')
      const corpus = resolve('docs/guide/jobs.md')
      await run(python!, [script, folder, corpus, String(SEED), String(TEXTS)])
      const { texts, cases } = JSON.parse(
        await readFile(join(folder, 'cases.json'), 'utf8'),
      ) as Cases
      expect(Object.keys(cases).length).toBe(13)
      let disguised = 0
      for (const [kind, wanted] of Object.entries(cases)) {
        const tokenizer = await TextTokenizer.open(join(folder, `${kind}.json`))
        let compared = 0
        for (const [i, text] of texts.entries()) {
          const right = wanted[i]!
          // A text without tokens is refused, so there is nothing to compare.
          if (right.ids.length === 0) continue
          const limit = { most: Number.POSITIVE_INFINITY, isCut: false }
          const found = encoded(tokenizer, text, { limit, index: i })
          if (found === 'disguised') {
            // Brackets of full width around "/s", which a normalizer makes a token of the tokenizer.
            expect(text).toContain('＜/s＞')
            disguised += 1
            continue
          }
          const { ids, types } = found
          expect({ kind, text, ids, types }).toEqual({ kind, text, ...right })
          compared += 1
        }
        expect(compared).toBeGreaterThan(TEXTS)
      }
      // The text by itself, and where it stands between two tokens.
      expect(disguised).toBeGreaterThan(0)
      expect(disguised).toBeLessThan(40)
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)
