import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { TextTokenizer } from '../../../../src/inference/transforms/text-tokenizer.ts'
import { needs } from '../../../run/needs.ts'
import { pythonWith } from '../../../services/python-packages.ts'

/*
 * The tokens of each kind of tokenizer beside those of the library in Rust (`tokenizers` of PyPI), which makes the tokenizers
 * of this test and the right answers: scripts of all sorts, emoji, control characters, added tokens, empty and long texts.
 */

const run = promisify(execFile)
const python = await pythonWith('tokenizers==0.23.3')
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
      expect(Object.keys(cases).length).toBe(10)
      for (const [kind, wanted] of Object.entries(cases)) {
        const tokenizer = await TextTokenizer.open(join(folder, `${kind}.json`))
        let compared = 0
        for (const [i, text] of texts.entries()) {
          const right = wanted[i]!
          // A text without tokens is refused, so there is nothing to compare.
          if (right.ids.length === 0) continue
          const limit = { most: Number.POSITIVE_INFINITY, isCut: false }
          const { ids, types } = tokenizer.encode(text, limit, i)
          expect({ kind, text, ids, types }).toEqual({ kind, text, ...right })
          compared += 1
        }
        expect(compared).toBeGreaterThan(TEXTS)
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)
