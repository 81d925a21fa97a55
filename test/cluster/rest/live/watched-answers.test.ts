import { expect, it } from 'vitest'
import {
  type AnswerEvent,
  WatchedAnswers,
} from '../../../../src/cluster/rest/live/watched-answers.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

function setting() {
  const clock = new ManualClock()
  const bodies: Record<string, string> = { '/a': '1', '/b': '1' }
  const asked: string[] = []
  const answers = new WatchedAnswers({
    clock,
    answer: async (path) => {
      asked.push(path)
      return { status: 200, body: bodies[path]! }
    },
  })
  const watch = (paths: readonly string[], seen = 0) => {
    const events: AnswerEvent[] = []
    const stop = answers.watch({ paths, seen, deliver: (event) => events.push(event) })
    return { events, stop }
  }
  const second = async (): Promise<void> => {
    await new Promise(setImmediate)
    clock.advance(1000)
    await new Promise(setImmediate)
  }
  return { answers, bodies, asked, watch, second }
}

it('delivers each answer at once, and again when it has changed', async () => {
  const { bodies, watch, second } = setting()
  const { events } = watch(['/a', '/b'])
  await second()
  bodies['/b'] = '2'
  await second()
  await second()
  expect(events.map(({ path, body, sequence }) => [path, body, sequence])).toEqual([
    ['/a', '1', 1],
    ['/b', '1', 2],
    ['/b', '2', 3],
  ])
})

it('requests a path once a second for all watchers, and none when no one watches', async () => {
  const { asked, watch, second } = setting()
  const one = watch(['/a'])
  await second()
  const two = watch(['/a'])
  expect(two.events).toEqual(one.events)
  asked.length = 0
  await second()
  expect(asked).toEqual(['/a'])
  one.stop()
  two.stop()
  await second()
  expect(asked).toEqual(['/a'])
})

it('delivers to a watcher that returns only what it has not seen', async () => {
  const { bodies, watch, second } = setting()
  watch(['/a', '/b'])
  await second()
  bodies['/b'] = '2'
  await second()
  expect(watch(['/a', '/b'], 2).events.map(({ path }) => path)).toEqual(['/b'])
})

it('delivers an answer from now to a watcher that comes after all others have left', async () => {
  const { bodies, watch, second } = setting()
  const { stop } = watch(['/a'])
  await second()
  stop()
  bodies['/a'] = '2'
  const { events } = watch(['/a'])
  await second()
  expect(events.map(({ body }) => body)).toEqual(['2'])
})
