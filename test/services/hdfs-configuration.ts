import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Ports of a NameNode on 127.0.0.1. */
export interface NameNodePorts {
  readonly rpc: number
  /** Also WebHDFS. */
  readonly http: number
}

/** Ports of a DataNode on 127.0.0.1. */
export interface DataNodePorts {
  readonly data: number
  readonly http: number
  readonly ipc: number
}

/** Shape of a test cluster. */
export interface HdfsLayout {
  readonly folder: string
  /** One NameNode, or a pair that shares its edits through a folder. */
  readonly nameNodes: readonly NameNodePorts[]
  readonly dataNode: DataNodePorts
}

const LOGGING = `log4j.rootLogger=INFO,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
`

/** The folder that must be on the class path of every process of the cluster. */
export const configurationFolder = (layout: HdfsLayout): string => join(layout.folder, 'conf')

/** The folder with what the NameNodes store, which is formatted. */
export const namesFolder = (layout: HdfsLayout): string => join(layout.folder, 'names')

/** Id of NameNode `index` within the pair. */
export const nameNodeId = (index: number): string => `nn${index + 1}`

/** Writes Hadoop's configuration files and creates the folders that it needs. */
export async function writeHdfsConfiguration(layout: HdfsLayout): Promise<void> {
  const conf = configurationFolder(layout)
  // The jars have no web pages, and the HTTP server does not start without these folders.
  for (const folder of ['webapps/hdfs', 'webapps/datanode', 'webapps/static']) {
    await mkdir(join(conf, folder), { recursive: true })
  }
  for (const folder of ['tmp', 'logs', 'names', 'names/shared'])
    await mkdir(join(layout.folder, folder))
  await mkdir(join(layout.folder, 'data'), { mode: 0o700 })
  await writeFile(join(conf, 'core-site.xml'), xml(coreSite(layout)))
  await writeFile(join(conf, 'hdfs-site.xml'), xml(hdfsSite(layout)))
  await writeFile(join(conf, 'log4j.properties'), LOGGING)
}

const isPair = (layout: HdfsLayout): boolean => layout.nameNodes.length > 1

function coreSite(layout: HdfsLayout): Record<string, string> {
  const authority = isPair(layout) ? 'weir' : `127.0.0.1:${layout.nameNodes[0]!.rpc}`
  return {
    'fs.defaultFS': `hdfs://${authority}`,
    'hadoop.tmp.dir': join(layout.folder, 'tmp'),
    'hadoop.http.staticuser.user': 'weir',
  }
}

function hdfsSite(layout: HdfsLayout): Record<string, string> {
  const { folder, dataNode } = layout
  return {
    ...(isPair(layout) ? pairOf(layout) : singleOf(layout)),
    'dfs.replication': '1',
    'dfs.datanode.data.dir': `file://${folder}/data`,
    'dfs.datanode.address': `127.0.0.1:${dataNode.data}`,
    'dfs.datanode.http.address': `127.0.0.1:${dataNode.http}`,
    'dfs.datanode.ipc.address': `127.0.0.1:${dataNode.ipc}`,
    'dfs.datanode.hostname': '127.0.0.1',
    'dfs.datanode.du.reserved': '0',
    'dfs.datanode.directoryscan.interval': '-1',
    'dfs.namenode.datanode.registration.ip-hostname-check': 'false',
    'dfs.namenode.safemode.extension': '0',
    'dfs.namenode.safemode.min.datanodes': '1',
    'dfs.namenode.redundancy.considerLoad': 'false',
    // With this, the NameNode notices a dead DataNode within seconds.
    'dfs.heartbeat.interval': '1',
    'dfs.namenode.heartbeat.recheck-interval': '1000',
    'dfs.client.block.write.replace-datanode-on-failure.policy': 'NEVER',
    // With the default of 400 ms, every small file would take as long.
    'dfs.client.block.write.locateFollowingBlock.initial.delay.ms': '20',
  }
}

function singleOf(layout: HdfsLayout): Record<string, string> {
  const { rpc, http } = layout.nameNodes[0]!
  return {
    'dfs.namenode.rpc-address': `127.0.0.1:${rpc}`,
    'dfs.namenode.http-address': `127.0.0.1:${http}`,
    'dfs.namenode.name.dir': `file://${namesFolder(layout)}/nn1`,
  }
}

/** Two NameNodes with one folder of edits and manual failover, without ZooKeeper and JournalNodes. */
function pairOf(layout: HdfsLayout): Record<string, string> {
  const { nameNodes } = layout
  const perNode = nameNodes.flatMap(({ rpc, http }, index) => {
    const id = nameNodeId(index)
    return [
      [`dfs.namenode.rpc-address.weir.${id}`, `127.0.0.1:${rpc}`],
      [`dfs.namenode.http-address.weir.${id}`, `127.0.0.1:${http}`],
      [`dfs.namenode.name.dir.weir.${id}`, `file://${namesFolder(layout)}/${id}`],
    ]
  })
  return {
    ...Object.fromEntries(perNode),
    'dfs.nameservices': 'weir',
    'dfs.ha.namenodes.weir': nameNodes.map((_, index) => nameNodeId(index)).join(','),
    'dfs.namenode.shared.edits.dir': `file://${namesFolder(layout)}/shared`,
    'dfs.ha.fencing.methods': 'shell(/bin/true)',
    'dfs.client.failover.proxy.provider.weir':
      'org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider',
    'dfs.ha.tail-edits.period': '1',
    'dfs.ha.log-roll.period': '5',
  }
}

function xml(properties: Record<string, string>): string {
  const lines = Object.entries(properties).map(
    ([name, value]) => `  <property><name>${name}</name><value>${value}</value></property>`,
  )
  return ['<configuration>', ...lines, '</configuration>', ''].join('\n')
}
