import { openTopics } from '../../../src/connectors/topics/open.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { forget } from '../../../src/jobs/erasure/forget.ts'

/* Main module of a process that forgets a user, says when it begins and when it is done, and may be killed between. */

const [logDirectory = '', user = ''] = process.argv.slice(2)
await using topics = await openTopics({ logDirectory })
process.send?.('begins')
await forget({
  ...{ topics, user, versions: [1, 2, 3], clock: systemClock, model: 'als-model' },
  ...{ observations: 'observations', also: ['golden'], quarantine: ['refused'] },
})
process.send?.('done')
