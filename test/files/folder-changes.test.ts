import { expect, it } from 'vitest'
import { FolderChanges } from '../../src/files/folder-changes.ts'
import { put } from '../contracts/file-system.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import { SimulatedMount } from '../disk/simulated-mount.ts'

it('a change that was not forced when another sync of the folder failed fails with it', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  const changes = new FolderChanges(files)
  disk.failNextSync()
  const both = await Promise.allSettled(
    ['/a', '/b'].map((path) => changes.force('/', async () => put(files, path, 'x'))),
  )
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await changes.force('/', async () => put(files, '/c', 'x'))
  disk.powerCut('none')
  expect(disk.files()).toContain('/c')
})
