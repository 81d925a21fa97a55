import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../run/until.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { expectEachOnce } from '../kafka/fold/fixture.ts'
import { JobMember } from './fixture.ts'
import { ownFold, type ScaledFold, untilVisible } from './fold-fixture.ts'

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const PARTITIONS = 4

const newFold = (): Promise<ScaledFold> => ownFold(broker, PARTITIONS)

describe('one job in several processes', () => {
  it('loses and repeats nothing while processes join, are killed, stand still and leave', async () => {
    const fold = await newFold()
    const { job, load, output } = fold
    await using first = new JobMember(job)
    await first.untilRunning(PARTITIONS)
    load.start()
    await using second = new JobMember(job)
    await untilShared(first, second)
    await first.kill()
    await second.untilRunning(PARTITIONS)
    await using third = new JobMember(job)
    await untilShared(second, third)
    second.process.signal('SIGSTOP')
    await third.untilRunning(PARTITIONS)
    second.process.signal('SIGCONT')
    await untilShared(second, third)
    const { code, stderr } = await third.leave()
    expect({ code, stderr }).toMatchObject({ code: 0 })
    await second.untilRunning(PARTITIONS)
    await load.stop()
    await untilVisible(fold, load.sent)
    await second.leave()
    await expectEachOnce(broker, output, load)
  })

  it('starts several processes at once, and one again that is killed', async () => {
    const { job, load } = await newFold()
    await load.stop()
    await using both = new JobMember(job, ['--processes', '2'])
    const pids = () => both.events('started').map(({ pid }) => pid as number)
    await until('two have started', () => pids().length === 2)
    await until(
      'both are members',
      () => new Set(both.events('joined').map(({ memberId }) => memberId)).size === 2,
    )
    process.kill(pids()[0]!, 'SIGKILL')
    await until('a third has started', () => pids().length === 3)
    const { code, stderr } = await both.leave()
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toContain('was ended by SIGKILL; it is started again')
  })
})

/** Resolves when each of two processes runs half of the partitions, and together they run all. */
async function untilShared(a: JobMember, b: JobMember): Promise<void> {
  await until(
    () => `two processes share the partitions:\n${a.printed}\n${b.printed}`,
    () => {
      const all = [...a.running, ...b.running].toSorted()
      return a.running.length === PARTITIONS / 2 && all.join() === '0,1,2,3'
    },
  )
}
