import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { NewTopic } from '../../../src/connectors/topics/store.ts'
import { checkModelTopics } from '../../../src/models/topic/check-topics.ts'
import { createModelTopics } from '../../../src/models/topic/topics.ts'

async function openLog(topics: Readonly<Record<string, NewTopic>> = {}): Promise<LogTopics> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-model-topics-'))
  const log = new LogTopics(folder)
  onTestFinished(async () => {
    await log[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  for (const [name, config] of Object.entries(topics)) await log.create(name, config)
  return log
}

describe('the topics of a model', () => {
  it('are in order as Weir creates them', async () => {
    const log = await openLog()
    await createModelTopics(log, 'm')
    expect(await checkModelTopics(log, 'm')).toEqual([])
  })

  it.each(['compact', 'both'] as const)(
    'are refused with deltas under the policy %s',
    async (cleanupPolicy) => {
      const log = await openLog({ m: { cleanupPolicy: 'compact' }, 'm-deltas': { cleanupPolicy } })
      const checked = checkModelTopics(log, 'm')
      await expect(checked).rejects.toMatchObject({ code: 'TOPIC_EXISTS' })
      await expect(checked).rejects.toThrow(/"m-deltas" is compacted.*set cleanup\.policy=delete/)
    },
  )

  it('are refused where the rows would go to the deltas of another model, before anything is created', async () => {
    const log = await openLog()
    await expect(createModelTopics(log, 'm-deltas')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('name the topic of the rows, "m"'),
    })
    await createModelTopics(log, 'm')
    await expect(checkModelTopics(log, 'm-deltas')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    expect(await log.topics()).toEqual(['m', 'm-deltas'])
  })

  it('give warnings when retention deletes rows or deltas', async () => {
    const week = {
      cleanupPolicy: 'delete',
      retentionMs: 7 * 86_400_000,
      retentionBytes: -1,
    } as const
    const log = await openLog({ m: week, 'm-deltas': week })
    expect(await checkModelTopics(log, 'm')).toEqual([
      'topic "m" deletes rows of the model after 7 days; set cleanup.policy=compact on it',
      'topic "m-deltas" deletes deltas of the rows after 7 days; set retention.ms=-1 and retention.bytes=-1 on it',
    ])
  })
})
