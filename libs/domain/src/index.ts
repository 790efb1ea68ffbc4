export * from './actors.ts'
export { entities } from './entities/entities.ts'
export * from './entities/index.ts'
export * from './user-views.ts'
