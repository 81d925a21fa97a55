import { describe, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { topicStoreContract } from '../../contracts/topic-store.ts'
import { temporaryFolder } from '../log/fixture.ts'

topicStoreContract('The embedded log', () => openTopics({ logDirectory: temporaryFolder() }))

describe('openTopics', () => {
  it('needs exactly one place', async () => {
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    await expect(openTopics({})).rejects.toThrow(invalid)
    const both = { logDirectory: '/log', kafka: { brokers: 'a:1' } }
    await expect(openTopics(both)).rejects.toThrow(invalid)
  })
})
