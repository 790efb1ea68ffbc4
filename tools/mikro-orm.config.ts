import { databaseOptions, findServer } from '@gatehouse/database'

/** For the MikroORM command line: `npm run mikro-orm -- migration:list`, with DATABASE_URL in the environment. */
const url = process.env.DATABASE_URL ?? 'postgres://localhost:5432/gatehouse'
export default databaseOptions({ url }, await findServer(url))
