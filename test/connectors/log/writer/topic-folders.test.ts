import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listTopics } from '../../../../src/connectors/log/storage/topic-config.ts'
import { openLog, temporaryFolder } from '../fixture.ts'

it.each([
  ['created', 'clicks~new'],
  ['deleted', 'clicks~gone'],
])(
  'a topic that was being %s when the process died is no topic, and its files go with the next opening',
  async (_, left) => {
    const folder = temporaryFolder()
    const log = await openLog(folder)
    await log.createTopic('clicks', { partitions: 2 })
    await log.createTopic('other', { partitions: 1 })
    await log.close()
    renameSync(join(folder, 'clicks'), join(folder, left))
    expect(listTopics(folder)).toEqual(['other'])
    const again = await openLog(folder)
    expect(listTopics(folder)).toEqual(['other'])
    expect(existsSync(join(folder, left))).toBe(false)
    await again.createTopic('clicks', { partitions: 3 })
    expect(listTopics(folder)).toEqual(['clicks', 'other'])
  },
)

it('files whose names only look like it, and a leftover beside its topic, stay', async () => {
  const folder = temporaryFolder()
  const log = await openLog(folder)
  await log.createTopic('clicks', { partitions: 1 })
  await log.close()
  mkdirSync(join(folder, 'clicks~new'))
  writeFileSync(join(folder, 'notes~newer'), '')
  await (await openLog(folder)).close()
  expect(readdirSync(folder)).toEqual(
    expect.arrayContaining(['clicks', 'clicks~new', 'notes~newer']),
  )
})

it('a topic with the longest name is created and deleted', async () => {
  const log = await openLog(temporaryFolder())
  const longest = 't'.repeat(249)
  await log.createTopic(longest, { partitions: 1 })
  await log.deleteTopic(longest)
  await log.createTopic(longest, { partitions: 2 })
})
