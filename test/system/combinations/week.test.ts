import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, onTestFinished } from 'vitest'
import { Installation } from '../../combinations/installation.ts'
import { explicitKind, hingeKind, implicitKind, textKind } from '../../combinations/kinds.ts'
import { Week } from './week.ts'

it.each([
  ['explicit ratings', () => explicitKind()],
  ['an SVM', () => hingeKind()],
  ['implicit events', () => implicitKind()],
  ['text rows', () => textKind()],
])(
  'a week with %s on the embedded log: each day what is served, counted and measured is right',
  async (_, kind) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-week-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const machine = (name: string): Installation => new Installation(join(folder, name))
    const week = new Week(kind(), machine('first'), machine)
    onTestFinished(() => week.end())
    await week.run()
  },
)
