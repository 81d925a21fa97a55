import { describe, expect, it } from 'vitest'
import {
  type AccessRight,
  clusterRight,
  coordinatorRight,
  topicRight,
} from '../../../../src/connectors/kafka/client/access-rights.ts'
import { kafkaError, kafkaErrorOf } from '../../../../src/connectors/kafka/client/errors.ts'
import { principalOf } from '../../../../src/connectors/kafka/client/options.ts'

describe('errors of the protocol', () => {
  it.each([
    [6, 'CONNECTOR_FAILED', true],
    [47, 'TRANSACTION_FENCED', false],
    [90, 'TRANSACTION_FENCED', false],
    [29, 'ACCESS_DENIED', false],
    [10, 'FRAME_TOO_LARGE', false],
    [1, 'OFFSET_OUT_OF_RANGE', false],
  ])('%i is %s', (number, code, retryable) => {
    const error = kafkaError(number, { doing: 'x', needs: [], principal: 'User:ada' })
    expect({ code: error.code, retryable: error.retryable }).toEqual({ code, retryable })
    expect(kafkaErrorOf(error)).toBe(number)
  })
})

describe('the error of a user without a right', () => {
  const needs: readonly AccessRight[] = [
    topicRight('Write', 'films'),
    coordinatorRight('group', 'my team'),
    coordinatorRight('transaction', 'weir/job/3'),
    clusterRight('IdempotentWrite'),
  ]
  const denied = (number: number) =>
    kafkaError(number, { doing: 'write to films/0', needs, principal: 'User:eve' })
  const add = 'kafka-acls --add --allow-principal User:eve --operation'

  it.each([
    [29, 'WRITE on topic "films"', `${add} Write --topic films`],
    [30, 'READ on group "my team"', `${add} Read --group 'my team'`],
    [
      53,
      'WRITE on transactional id "weir/job/3"',
      `${add} Write --transactional-id weir/ --resource-pattern-type prefixed`,
    ],
    [
      31,
      'IDEMPOTENT_WRITE on the cluster (WRITE on any topic includes it)',
      `${add} IdempotentWrite --cluster`,
    ],
  ])('%i names user, operation, resource and the command that grants it', (number, right, run) => {
    const error = denied(number)
    expect(error.message).toBe(
      `write to films/0 is not allowed: User:eve needs ${right}; let an administrator run: ${run}`,
    )
    expect({ code: error.code, number: kafkaErrorOf(error) }).toEqual({
      code: 'ACCESS_DENIED',
      number,
    })
  })

  it('has the parts in its details', () => {
    expect(denied(29).details).toEqual({
      kafkaError: 29,
      kafkaErrorName: 'TOPIC_AUTHORIZATION_FAILED',
      operation: 'Write',
      resource: 'topic',
      name: 'films',
      principal: 'User:eve',
    })
  })

  it('leaves out a name of the user that only a certificate has', () => {
    const { message, details } = kafkaError(29, { doing: 'x', needs, principal: undefined })
    expect(message).toMatch(
      /^x is not allowed: this user needs WRITE .*--allow-principal User:NAME /,
    )
    expect(details).not.toHaveProperty('principal')
  })

  it('keeps the words of the broker for a right that the request did not name', () => {
    const error = kafkaError(31, { doing: 'x', needs: [], principal: 'User:eve' }, 'no')
    expect(error).toMatchObject({
      code: 'ACCESS_DENIED',
      message: 'x: the broker answered CLUSTER_AUTHORIZATION_FAILED (no)',
    })
  })
})

describe('the name of a user', () => {
  it.each([
    [{}, 'User:ANONYMOUS'],
    [{ tls: true }, 'User:ANONYMOUS'],
    [{ tls: { ca: 'x' } }, 'User:ANONYMOUS'],
    [{ tls: { cert: 'x', key: 'y' } }, undefined],
    [
      { sasl: { mechanism: 'PLAIN', username: 'eve', password: '' }, tls: { cert: 'x' } } as const,
      'User:eve',
    ],
  ])('of a client with %j is %s', (options, principal) => {
    expect(principalOf({ brokers: 'a:1', ...options })).toBe(principal)
  })
})
