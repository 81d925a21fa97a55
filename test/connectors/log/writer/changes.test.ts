import { describe, expect, it } from 'vitest'
import { LogChanges, listenToChanges } from '../../../../src/connectors/log/writer/changes.ts'

const PLACE = { topic: 'topic', partition: 1 }

describe('changes of a log', () => {
  it('reach every listener of the partition in a thread, and no other listener', async () => {
    const changes = new LogChanges('/a/log')
    const told: string[] = []
    const stops = [
      listenToChanges('/a/log', PLACE, () => told.push('first')),
      listenToChanges('/a/log', PLACE, () => told.push('second')),
      listenToChanges('/a/log', { ...PLACE, partition: 0 }, () => told.push('other partition')),
      listenToChanges('/another/log', PLACE, () => told.push('other log')),
    ]
    changes.announce(PLACE)
    await expect.poll(() => told).toEqual(['first', 'second'])
    for (const stop of stops) stop()
    changes.close()
  })

  it('no longer reach a listener that stopped, and reach a listener that comes later', async () => {
    const changes = new LogChanges('/a/log')
    let heard = 0
    let heardByOther = 0
    const stop = listenToChanges('/a/log', PLACE, () => heard++)
    const stopOther = listenToChanges('/a/log', PLACE, () => heardByOther++)
    stop()
    changes.announce(PLACE)
    await expect.poll(() => heardByOther).toBe(1)
    expect(heard).toBe(0)
    stopOther()
    const stopAgain = listenToChanges('/a/log', PLACE, () => heard++)
    changes.announce(PLACE)
    await expect.poll(() => heard).toBe(1)
    stopAgain()
    changes.close()
  })
})
