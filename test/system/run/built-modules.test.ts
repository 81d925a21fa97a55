import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { BUILT_MODULES_FLAG, BUILT_MODULES_VARIABLE } from '../../run/setup/built-modules.ts'
import { CommandProcess } from '../cli/command-process.ts'
import type { Imported } from './imports.thread.ts'

const MODULE = new URL('./imports.thread.ts', import.meta.url)
const JOINED = `${process.env[BUILT_MODULES_VARIABLE]}core/errors.js`

it('a thread of a test gets the modules of src, one of each, from joined files', async () => {
  const thread = new Worker(MODULE)
  const [imported] = (await once(thread, 'message')) as [Imported]
  expect(imported).toEqual({ place: JOINED, isOne: true })
})

it('a process with the flag gets them, too', async () => {
  const words = [BUILT_MODULES_FLAG, MODULE.pathname]
  await using process_ = new CommandProcess(process.execPath, words)
  const { stdout, stderr } = await process_.ended
  expect(JSON.parse(stdout), stderr).toEqual({ place: JOINED, isOne: true })
})

it('the process of a test has the source', () => {
  expect(import.meta.resolve('../../../src/core/errors.ts')).toMatch(/\/src\/core\/errors\.ts$/)
})
