/** The build of clients leaves the endpoints of admins to this module (tools/browsers/table-of-clients.ts). */
export { endpointTable as adminEndpoints } from './table.ts'
