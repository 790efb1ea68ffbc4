import { endpointTable, type EndpointRow, openServerEndpoints } from '@gatehouse/contracts/endpoints'
import type { Plugin } from 'vite'

/**
 * The table of the endpoints without what a client does not use: services, limits and the endpoints of peers and upstreams.
 * Those of admins, and those for applications that log people in, have a module of their own, which few load.
 */
export const tableOfClients: Plugin = {
  name: 'table-of-clients',
  load(id) {
    const [, file] = /\/contracts\/src\/endpoints\/(table|admin-table)\.ts$/.exec(id) ?? []
    if (!file) return null
    const unused: readonly string[] = openServerEndpoints
    const rows = Object.entries<EndpointRow>(endpointTable).filter(
      ([name, { access }]) => access !== 'peer' && access !== 'upstream' && !unused.includes(name),
    )
    const isLater = ({ access, service }: EndpointRow) => access === 'admin' || service === 'openid'
    if (file === 'table')
      return writeTable(
        'endpointTable',
        '/api/',
        rows.filter(([, row]) => !isLater(row)),
      )
    return writeTable(
      'adminEndpoints',
      '/',
      rows.filter(([, row]) => isLater(row)),
    )
  },
}

/** `prefix`: of every path. */
function writeTable(exported: string, prefix: string, rows: readonly (readonly [string, EndpointRow])[]): string {
  const texts = rows.map(([name, row]) => {
    const access = row.access === 'anyone' && !row.readsToken ? [row.access] : []
    return [row.path.slice(prefix.length), row.method, name, ...access].join(' ')
  })
  // Alike beside alike takes less when it is compressed.
  texts.sort()
  return `export const ${exported} = Object.fromEntries(${JSON.stringify(texts.join())}.split(',').map((row) => {
    const [path, method, name, access] = row.split(' ')
    return [name, { method, path: '${prefix}' + path, access }]
  }))`
}
