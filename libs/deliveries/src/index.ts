export * from './named-instances.ts'
