import { existsSync, globSync } from 'node:fs'

/** The driver file of SwiftShader, a Vulkan driver for the CPU, in Debian's package `chromium`. */
const DRIVER = '/usr/lib/chromium/vk_swiftshader_icd.json'
/**
 * The environment that makes SwiftShader the only GPU of a process, so that tests need no hardware and have the
 * same results everywhere. Throws with the packages to install when it is missing.
 */
export function softwareGpu(): Readonly<Record<string, string>> {
  const loader = globSync('/usr/lib/{,*/}libvulkan.so.1')
  if (!existsSync(DRIVER) || loader.length === 0) {
    throw new Error(
      'the GPU path is tested on SwiftShader, which is not installed: apt-get install chromium libvulkan1',
    )
  }
  return { VK_ICD_FILENAMES: DRIVER }
}

/** The environment of a machine without any GPU. */
export const NO_GPU: Readonly<Record<string, string>> = { VK_ICD_FILENAMES: '/dev/null' }
