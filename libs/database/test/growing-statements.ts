/** Statements that may cost more in a larger instance, by how they begin without values; each with its reason. Design: invariant 13. */
export const exceptions: Readonly<Record<string, string>> = {
  'select count(*) from (select ? from "users" as "u"': 'reads 10,001 rows at most. Contract: 5, Lists',
  'select origin, status, pending from (select count(*)':
    'an admin is told all peers; read once for all who connect. Contract: 6',
  'select "p0".* from "peers" as "p0" order by': 'the answer is all peers. Contract: 7',
  'select "o0".* from "outbox" as "o0"': 'rows are there while the bus is away; each service skips those of the others',
  'select id::text as id from users where home_instance = ? and not is_deleted and created_at <=':
    'the accounts of a home that has lost its data, once',
  'select u.id from "users" as "u" where':
    'the more names have the searched text, the longer its list in the index; list-users.test.ts bounds the rows read',
}
