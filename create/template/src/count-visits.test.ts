import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringSerializer } from '@weirjs/weir'
import { KeyedProcessOperator, OperatorHarness } from '@weirjs/weir/testing'
import { CountVisits } from './count-visits.ts'

const open = (restore: Awaited<ReturnType<OperatorHarness['snapshot']>>[] = []) =>
  OperatorHarness.open<string, number>({
    operator: new KeyedProcessOperator(new CountVisits(), stringSerializer, false),
    keys: { selectors: [(page: string) => page], serializer: stringSerializer },
    restore,
  })

test('counts the visits of each page', async () => {
  const harness = await open()
  for (const page of ['home', 'docs', 'home']) harness.process(page)
  assert.deepEqual(harness.take(), [1, 1, 2])
})

test('continues from a snapshot, as after a restart', async () => {
  const harness = await open()
  harness.process('home')
  const restored = await open([await harness.snapshot()])
  restored.process('home')
  assert.deepEqual(restored.take(), [2])
})
