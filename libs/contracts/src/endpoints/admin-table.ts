/** The build of clients leaves the endpoints of admins and of applications to this module (tools/browsers/table-of-clients.ts). */
export { endpointTable as adminEndpoints } from './table.ts'
