import { describe, expect, it } from 'vitest'
import { type Service, servicesOf, testsThatStart } from './services.ts'

const KAFKA: Service = { name: 'Kafka', users: ['src/kafka/'], starts: ['test/broker.ts'] }
const GPU: Service = { name: 'GPU', users: ['src/gpu'], starts: ['test/gpu-'] }

const edge = (from: string, to: string) => ({ from, to, steps: 1 })

describe('the services of changed files', () => {
  it('are those whose code is below one of the paths', () => {
    expect(servicesOf(['src/kafka/sink.ts', 'src/a.ts'], [KAFKA, GPU])).toEqual([KAFKA])
    expect(servicesOf(['src/a.ts'], [KAFKA, GPU])).toEqual([])
  })
})

describe('the tests that start a service', () => {
  it('import the module that does, or a file of the tests that imports it', () => {
    const edges = [
      edge('test/a.test.ts', 'test/broker.ts'),
      edge('test/b.test.ts', 'test/fixture.ts'),
      edge('test/fixture.ts', 'test/broker.ts'),
      edge('test/c.test.ts', 'test/other.ts'),
    ]
    expect([...testsThatStart(KAFKA, edges)].sort()).toEqual(['test/a.test.ts', 'test/b.test.ts'])
  })

  it('do not start it by way of the code that they test', () => {
    const edges = [edge('test/a.test.ts', 'src/a.ts'), edge('src/a.ts', 'test/broker.ts')]
    expect([...testsThatStart(KAFKA, edges)]).toEqual([])
  })

  it('can be named themselves', () => {
    const edges = [edge('test/gpu-als.test.ts', 'src/a.ts')]
    expect([...testsThatStart(GPU, edges)]).toEqual(['test/gpu-als.test.ts'])
  })
})
