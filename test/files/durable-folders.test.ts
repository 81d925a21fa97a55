import { expect, it } from 'vitest'
import { DurableFolders } from '../../src/files/durable-folders.ts'
import { put } from '../contracts/file-system.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import { SimulatedMount } from '../disk/simulated-mount.ts'

it('a folder survives a power cut with its parents, also one that another process created', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  files.makeFolderSync('/root/a')
  await new DurableFolders(files, '/root').make('/root/a')
  await new DurableFolders(files, '/root').make('/root/b/c')
  disk.powerCut('none')
  expect(files.statSync('/root/a')?.isFolder).toBe(true)
  expect(files.statSync('/root/b/c')?.isFolder).toBe(true)
})

it('folders of a failed attempt are taken back, unless they hold something', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  const folders = new DurableFolders(files, '/root')
  disk.failNextSync()
  await expect(folders.make('/root/a/b')).rejects.toMatchObject({ code: 'EIO' })
  expect(files.listSync('/')).toEqual([])
  await folders.make('/root/a')
  put(files, '/root/a/kept', 'x')
  disk.powerCut('none')
  expect(files.statSync('/root/a')?.isFolder).toBe(true)
})
