import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openStateStore } from '../../../src/state/store/open.ts'
import { stateStoreContract } from '../../contracts/state-store.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-heap-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

stateStoreContract('heap', () => openStateStore('heap', directory))
