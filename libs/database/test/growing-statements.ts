/** Statements that may cost more in a larger instance, by how they begin without values; each with its reason. Design: invariant 13. */
export const exceptions: Readonly<Record<string, string>> = {
  'select count(*)::float8 as count from (select from users u where': 'reads 10,001 rows at most. Contract: 5, Users',
  'select origin, status, pending from (select count(*)':
    'an admin is told all peers; read once for all who connect. Contract: 6',
  'select "p0".* from "peers" as "p0" order by': 'the answer is all peers. Contract: 7',
  'select "o0".* from "outbox" as "o0"': 'rows are there while the bus is away; each service skips those of the others',
  'select id::text as id from users where home_instance = ? and not is_deleted and created_at <=':
    'the accounts of a home that has lost its data, once',
  'with matching as materialized (select u.id, u.username, u.created_at from users u where':
    'the more names have the parts, the longer their lists in the index; list-users.test.ts bounds the rows read',
  'select least(?, ? / greatest(pg_relation_size(?), ?))::float8 as share':
    'reads half a mebibyte, of which the planner knows nothing; list-users.test.ts bounds the rows read',
}
