import { protocolErrorsCodesById } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import {
  KAFKA_ERROR_TABLE,
  kafkaErrorEntry,
} from '../../../../src/connectors/kafka/client/error-table.ts'
import { kafkaError } from '../../../../src/connectors/kafka/client/errors.ts'
import { ResponseError } from '../../../../src/connectors/kafka/client/library.ts'
import { mayPassAfterRestart } from '../../../../src/core/errors.ts'

/** Numbers whose exception is a RetriableException of Java's client 4.3.1, by `Errors.forCode`. */
const RETRIABLE_IN_JAVA = [
  2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89,
  100, 103, 106, 122, 123, 133,
]
/** What Weir tries again beside them: a broker that is not available, and one that names no cause. */
const RETRIABLE_IN_WEIR = [-1, 8]
/** What Java's producer ends a transaction or takes another producer id for, or another producer. */
const ABORTABLE = [45, 47, 48, 49, 52, 59, 90, 120]
const NONE = [0, 46]

const numbersOf = (kind: string): number[] =>
  KAFKA_ERROR_TABLE.filter((entry) => entry.kind === kind).map(({ number }) => number)

describe('the table of error numbers', () => {
  it('has every number from -1 on once, in order', () => {
    expect(KAFKA_ERROR_TABLE.map(({ number }) => number)).toEqual(
      Array.from({ length: 135 }, (_, i) => i - 1),
    )
  })

  it('has the names of the protocol', () => {
    for (const [number, name] of Object.entries(protocolErrorsCodesById)) {
      expect(kafkaErrorEntry(Number(number)).name).toBe(name)
    }
  })

  it("has Java's classes", () => {
    const retriable = [...RETRIABLE_IN_JAVA, ...RETRIABLE_IN_WEIR].sort((a, b) => a - b)
    expect(numbersOf('retriable')).toEqual(retriable)
    expect(numbersOf('abortable')).toEqual(ABORTABLE)
    expect(numbersOf('none')).toEqual(NONE)
  })

  it.each(KAFKA_ERROR_TABLE.filter(({ kind }) => kind !== 'none'))(
    '$number, $name, is $kind: its error says its name, and passes by what its class says',
    ({ number, name, kind }) => {
      const error = kafkaError(number, { doing: 'x', needs: [], principal: undefined })
      expect(error.message).toBe(`x: the broker answered ${name}`)
      expect(error.details).toMatchObject({ kafkaError: number, kafkaErrorName: name })
      expect(error.retryable).toBe(kind === 'retriable')
      expect(mayPassAfterRestart(error.code)).toBe(kind !== 'fatal')
    },
  )

  it('names a number of a later Kafka by the number', () => {
    const error = kafkaError(777, { doing: 'x', needs: [], principal: undefined })
    expect(error.message).toContain('error 777')
    expect(error.details).toMatchObject({ kafkaError: 777 })
  })
})

describe('the connection library', () => {
  it('keeps the answer whose error number it does not know', () => {
    const answer = { errorCode: 777 }
    const error = new ResponseError(3, 12, { '/topics/0': [777, null] }, answer)
    expect(error).toMatchObject({ response: answer, errors: [{ apiCode: 777 }] })
  })
})
