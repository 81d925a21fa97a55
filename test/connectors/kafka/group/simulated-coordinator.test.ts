import { setImmediate as turn } from 'node:timers/promises'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { groupContract, groupSilenceContract } from '../../../contracts/group.ts'
import type { GroupWorld } from '../../../contracts/group-world.ts'
import { SimulatedCoordinator } from './simulated-coordinator.ts'

/** Time between two looks at a condition, ms of the clock. */
const STEP_MS = 100
/** Looks after which a condition is taken for one that never holds. */
const MOST_LOOKS = 10_000

function simulatedWorld(): GroupWorld {
  const clock = new ManualClock()
  const coordinator = new SimulatedCoordinator(clock)
  return {
    topic: 'topic',
    newGroup: () => 'group',
    member: (options) => coordinator.member(options),
    commits: (groupId) => coordinator.commits(groupId),
    producer: async (id) => coordinator.producer(id),
    end: async (transaction, commit) => coordinator.end(transaction, commit),
    until: async (what, condition) => {
      for (let look = 0; look < MOST_LOOKS; look++) {
        if (await condition()) return
        clock.advance(STEP_MS)
        await turn()
      }
      throw new Error(`not within ${MOST_LOOKS} looks: ${what}`)
    },
  }
}

groupContract('a simulated coordinator', simulatedWorld)
groupSilenceContract('a simulated coordinator', simulatedWorld)
