import { expect, it } from 'vitest'
import { flagsIn } from '../../../src/cli/completion/names.ts'
import { completionCommand } from '../../../src/cli/verbs/completion.ts'

const flagsOf = (line: string): readonly string[] =>
  flagsIn(line.split(' '), completionCommand.options)

it('the words of a typed line say where its names are: flags in each form that shells split them into', () => {
  expect(flagsOf('stop -m 8082 --drain job')).toEqual(['--jobmanager=8082'])
  expect(flagsOf('topic consume --data-dir=/a --brokers kafka:9092 x')).toEqual([
    '--data-dir=/a',
    '--brokers=kafka:9092',
  ])
  expect(flagsOf('topic consume --data-dir = /a b --tls')).toEqual(['--data-dir=/a', '--tls'])
  expect(flagsOf('run job.ts -D rest.port=8081 --topic')).toEqual([])
  expect(flagsOf('stop --jobmanager')).toEqual([])
})
