/** `@gatehouse/client/identity`: usable without a client. */
export { parseFederatedUsername } from '@gatehouse/contracts/constants'

export * from './identity.ts'
