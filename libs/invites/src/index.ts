export * from './invites.ts'
