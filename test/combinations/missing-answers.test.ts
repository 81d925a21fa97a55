import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { ScoredKey } from '../../src/client/index.ts'
import { wrongPredictions } from './checks.ts'
import { Installation } from './installation.ts'
import type { Asked, Face } from './kind.ts'
import { explicitKind, hingeKind } from './kinds.ts'
import type { Rows, Service } from './service.ts'

/** Rows by which each prediction is 0. */
const NOTHING: Rows = new Map(
  explicitKind().keys.map((key): [string, Float32Array] => [key, new Float32Array(2)]),
)

/** What is asked of a job that answers 0: with `lines` to a command, and with lists of `listed` items. */
function asked({ lines, listed }: { readonly lines: string; readonly listed: number }): Asked {
  const folder = mkdtempSync(join(tmpdir(), 'weir-missing-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const said = { code: 0, signal: null, stdout: lines, stderr: '' }
  const at = new Installation(folder, { runCommand: () => Promise.resolve(said) })
  const list = Array.from(
    { length: listed },
    (_, n): ScoredKey => ({ key: `${n + 1}-I`, score: 0 }),
  )
  const client = {
    predict: () => Promise.resolve({ score: 0 }),
    topK: () => Promise.resolve({ ok: true, value: list }),
  }
  return { at, service: { port: '1', toAsk: [], client } as unknown as Service, rows: NOTHING }
}

async function wrong(
  kind: ReturnType<typeof explicitKind>,
  face: Face,
  answers: { readonly lines?: string; readonly listed?: number },
): Promise<number> {
  const { lines = '', listed = 5 } = answers
  return wrongPredictions(await kind.predictions(face, asked({ lines, listed }))).length
}

it('a list that is too short is wrong at each rank that it lacks', async () => {
  expect(await wrong(explicitKind(), 'client', { listed: 5 })).toBe(0)
  // Ten lists are asked.
  expect(await wrong(explicitKind(), 'client', { listed: 3 })).toBe(20)
})

it('a command that answers for too few items is wrong for each that it lacks', async () => {
  const kind = explicitKind()
  const items = kind.golden.slice(0, 40).map((line) => line.split(',')[1]!)
  const all = items.map((item) => `${JSON.stringify({ item, score: 0 })}\n`)
  expect(await wrong(kind, 'command', { lines: all.join('') })).toBe(0)
  expect(await wrong(kind, 'command', { lines: all.slice(0, 37).join('') })).toBe(3)
})

it('a command that answers for too few examples is wrong for each that it lacks', async () => {
  const kind = hingeKind()
  const all = kind.golden.map(() => '{"decision":0}\n')
  expect(await wrong(kind, 'command', { lines: all.join('') })).toBe(0)
  expect(await wrong(kind, 'command', { lines: all.slice(1).join('') })).toBe(1)
})
