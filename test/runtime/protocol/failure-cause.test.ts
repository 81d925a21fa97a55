import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import { causesOf, placedError, userPlace } from '../../../src/runtime/protocol/failure-cause.ts'

const own = new URL('../../../src/operators/basic/map.ts', import.meta.url).href

describe('the place of an error', () => {
  it('is the innermost call in code of the user', () => {
    const stack = [
      'TypeError: no',
      '    at JSON.parse (<anonymous>)',
      '    at node:internal/process/task_queues:105:5',
      '    at deep (file:///home/user/node_modules/left-pad/index.js:1:2)',
      '    at MapOperator.parseOrder [as map] (file:///home/user/a%20job.ts:12:5)',
      `    at MapOperator.processElement (${own}:20:7)`,
      '    at main (/home/user/other.ts:1:1)',
    ].join('\n')
    expect(userPlace(stack)).toBe('parseOrder, /home/user/a job.ts:12:5')
  })

  it('is a library of the user where nothing else is', () => {
    const library = '    at /home/user/node_modules/left-pad/index.js:1:2'
    expect(userPlace(`Error: no\n${library}\n    at f (${own}:2:3)`)).toBe(
      '/home/user/node_modules/left-pad/index.js:1:2',
    )
  })

  it('is unknown where Weir alone is on the stack', () => {
    expect(userPlace(`Error: no\n    at f (${own}:2:3)`)).toBeUndefined()
    expect(userPlace(undefined)).toBeUndefined()
  })
})

describe('an error of code that makes a job', () => {
  const at = '    at build (file:///home/user/job.ts:5:9)'

  it('has the line and the causes in its message, and keeps its code', () => {
    const refused = new WeirError('INVALID_ARGUMENT', 'no such guarantee', { details: { a: 1 } })
    refused.stack = `WeirError: no such guarantee\n${at}`
    expect(placedError(refused)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'no such guarantee (at build, /home/user/job.ts:5:9)',
      details: { a: 1 },
    })
    const thrown = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED ::1:1') })
    thrown.stack = `TypeError: fetch failed\n${at}`
    expect(placedError(thrown)).toMatchObject({
      message:
        'TypeError: fetch failed (at build, /home/user/job.ts:5:9; caused by connect ECONNREFUSED ::1:1)',
      cause: thrown,
    })
  })

  it('is as it was where Weir alone is on the stack', () => {
    const broken = new WeirError('INVALID_GRAPH', 'no source')
    broken.stack = `WeirError: no source\n    at f (${own}:2:3)`
    expect(placedError(broken)).toBe(broken)
    expect(placedError('a text')).toBe('a text')
  })
})

describe('the causes of an error', () => {
  it('are the chain of causes with their codes, outermost first', () => {
    const refused = Object.assign(new Error('connect 127.0.0.1:39999'), { code: 'ECONNREFUSED' })
    const failed = new TypeError('fetch failed', { cause: refused })
    const error = new WeirError('CONNECTOR_FAILED', 'no answer', { cause: failed })
    expect(causesOf(error)).toEqual(['fetch failed', 'ECONNREFUSED: connect 127.0.0.1:39999'])
  })

  it('are those of the first of several attempts that have no message together', () => {
    const attempts = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED')]
    const joined = Object.assign(new AggregateError(attempts, ''), { code: 'ECONNREFUSED' })
    expect(causesOf(new Error('fetch failed', { cause: joined }))).toEqual([
      'ECONNREFUSED',
      'connect ECONNREFUSED ::1:1',
    ])
  })

  it('end, also where an error causes itself', () => {
    const error = new Error('again')
    error.cause = error
    expect(causesOf(error)).toHaveLength(5)
    expect(causesOf('a text')).toEqual([])
  })
})
