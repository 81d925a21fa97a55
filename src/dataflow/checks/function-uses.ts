import type { FunctionUse } from './function-argument.ts'
import type { FactoryUse } from './function-factory.ts'

const JOIN_KEYS = 'where((order) => order.id).equalTo((payment) => payment.order)'
const REDUCE = 'reduce((a, b) => ({ ...a, price: a.price + b.price }))'

/** The calls of streams that take a function of records. */
export const FUNCTION_USES = {
  map: { call: 'map', operator: 'Map', example: 'map((record) => record.price)' },
  filter: { call: 'filter', operator: 'Filter', example: 'filter((record) => record.price > 10)' },
  flatMap: {
    call: 'flatMap',
    operator: 'FlatMap',
    example: 'flatMap((record) => record.words)',
    generators: true,
  },
  reduce: { call: 'reduce', operator: 'Reduce', example: REDUCE },
  keyBy: { call: 'keyBy', operator: 'Source', example: 'keyBy((record) => record.user)' },
  keyByOfTwo: {
    call: 'keyBy',
    operator: 'ConnectedStreams',
    example: 'keyBy((order) => order.user, (payment) => payment.user)',
  },
  partitionCustom: {
    call: 'partitionCustom',
    operator: 'Source',
    example: 'partitionCustom((key, partitions) => key % partitions, (record) => record.id)',
  },
  joinTable: {
    call: 'joinTable',
    operator: 'TableJoin',
    example:
      'joinTable(customers, (order) => order.customer, (order, customer) => [order, customer])',
  },
  mapRows: {
    call: 'mapRows',
    operator: 'TableRows',
    example: 'mapRows((customer, id) => customer.name)',
  },
  filterRows: {
    call: 'filter',
    operator: 'TableFilter',
    example: 'filter((customer, id) => customer.isActive)',
  },
  groupBy: {
    call: 'groupBy',
    operator: 'TableGroups',
    example: 'groupBy((customer, id) => [customer.region, customer.orders])',
  },
  reduceOfTable: {
    call: 'reduce',
    operator: 'TableAggregate',
    example: 'reduce((sum, n) => sum + n, (sum, n) => sum - n)',
  },
  joinOfTables: {
    call: 'join',
    operator: 'TablesJoin',
    example: 'join(prices, (product, price) => ({ ...product, price }))',
  },
  foreignKey: {
    call: 'joinByForeignKey',
    operator: 'TableForeignKeyJoin',
    example:
      'joinByForeignKey(customers, (order) => order.customer, (order, customer) => [order, customer])',
  },
  joinFeatures: {
    call: 'join',
    operator: 'Features',
    example: 'join((event, features) => ({ ...event, ...features }))',
  },
  select: {
    call: 'select',
    operator: 'Pattern',
    example: 'select(({ first, last }) => [first[0], last[0]])',
  },
  where: { call: 'where', operator: 'Window', example: JOIN_KEYS },
  equalTo: { call: 'equalTo', operator: 'Window', example: JOIN_KEYS },
  reduceOfWindows: { call: 'reduce', operator: 'Window', example: REDUCE },
  applyOfWindows: {
    call: 'apply',
    operator: 'Window',
    example: 'apply((key, window, elements, out) => out.collect(elements.length))',
  },
  applyOfAll: {
    call: 'apply',
    operator: 'WindowAll',
    example: 'apply((window, elements, out) => out.collect(elements.length))',
  },
  applyOfJoin: {
    call: 'apply',
    operator: 'Window',
    example: 'apply((left, right) => ({ ...left, ...right }))',
  },
  flatApply: {
    call: 'flatApply',
    operator: 'Window',
    example: 'flatApply((left, right, out) => out.collect({ ...left, ...right }))',
  },
  applyOfCoGroup: {
    call: 'apply',
    operator: 'Window',
    example: 'apply((left, right, out) => out.collect(left.length))',
  },
} as const satisfies Readonly<Record<string, FunctionUse>>

/** The call that takes a factory of process functions without keys. */
export const PROCESS = {
  call: 'process',
  operator: 'Process',
  methods: ['processElement'],
} as const satisfies FactoryUse
