import { endpointTable, type EndpointRow, openServerEndpoints } from '@gatehouse/contracts/endpoints'
import type { Plugin } from 'vite'

/** The table of the endpoints without what a client does not use: services, limits and the endpoints of peers and upstreams. */
export const tableOfClients: Plugin = {
  name: 'table-of-clients',
  load(id) {
    if (!id.endsWith('/contracts/src/endpoints/table.ts')) return null
    const unused: readonly string[] = openServerEndpoints
    const rows = Object.entries(endpointTable).filter(
      ([name, { access }]) => access !== 'peer' && access !== 'upstream' && !unused.includes(name),
    )
    const texts = rows.map(([name, row]: [string, EndpointRow]) => {
      const access = row.access === 'anyone' && !row.readsToken ? [row.access] : []
      return [row.path.slice('/api/'.length), row.method, name, ...access].join(' ')
    })
    // Alike beside alike takes less when it is compressed.
    texts.sort()
    return `export const endpointTable = Object.fromEntries(${JSON.stringify(texts.join())}.split(',').map((row) => {
      const [path, method, name, access] = row.split(' ')
      return [name, { method, path: '/api/' + path, access }]
    }))`
  },
}
