import { describe, expect, it } from 'vitest'
import { exchangeTopic } from '../../../../src/cluster/scale-out/graph/kafka-exchange.ts'

describe('the topic of an exchange', () => {
  it('is named after the application and the operator behind it', () => {
    expect(exchangeTopic('shop', { name: 'count' })).toBe('shop-count-repartition')
  })

  it('has a name that Kafka takes, and another one for each operator', () => {
    const names = ['count words', 'count_words', 'zähler', 'x'.repeat(300), 'x'.repeat(301), 'a/b']
    const topics = names.map((name) => exchangeTopic('my shop', { name }))
    expect(new Set(topics).size).toBe(names.length)
    for (const topic of topics) expect(topic).toMatch(/^[a-zA-Z0-9._-]{1,249}$/)
  })
})
