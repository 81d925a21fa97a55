import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { accountProblems } from '../../combinations/checks.ts'
import { Installation } from '../../combinations/installation.ts'
import { explicitKind } from '../../combinations/kinds.ts'
import { untilLearned } from '../../combinations/learned.ts'
import { accountOf, placesOf } from '../../combinations/ledger.ts'
import { Service } from '../../combinations/service.ts'

it('a learner that began at the end and is killed before its first checkpoint forgets nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-killed-early-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const at = new Installation(folder)
  const kind = explicitKind()
  at.write('base', kind.base)
  await at.run('topic', 'create', kind.observations, '--partitions', '1')
  await at.produce(kind.observations, kind.base)
  const file = await placesOf(at, kind.observations)
  await kind.publish(at)
  const start = async (): Promise<Service> => {
    const flags = ['--learn-from', 'end', '-D', 'execution.checkpointing.interval=1 h']
    const service = await Service.start(at, ...kind.learn, ...flags)
    onTestFinished(() => service.kill())
    return service
  }
  const killed = await start()
  const before = await killed.rows(kind)
  await at.produce(kind.observations, kind.stream.slice(0, 100))
  await untilLearned(at, kind, { version: 1, count: 100, service: killed })
  await killed.kill()
  const service = await start()
  await at.produce(kind.observations, kind.stream.slice(100, 150))
  await untilLearned(at, kind, { version: 1, count: 150, service })
  const account = await accountOf(at, kind, { version: 1, file })
  expect(accountProblems(kind, account, [before])).toEqual([])
  await service.stop()
})
