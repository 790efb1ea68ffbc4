import type { ImportContext } from './context.ts'
import { readInteger, readName, readText } from './values.ts'

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The identity of the instance and its gates. `instance_id` has to stay: peers compare it. */
export async function importSettings({ source, client, report }: ImportContext): Promise<void> {
  const [row] = source.rows('instance_settings')
  if (!row) return report.note('the database has no settings: those of this instance stay')
  report.count('instance_settings', 'read')
  const instanceId = readText(row['instance_id'])
  const isKnown = instanceId !== null && uuidPattern.test(instanceId)
  if (!isKnown)
    report.note('the database has no instance id: this instance keeps its own, and peers will take it for a new one')
  const workerId = readInteger(row['worker_id'])
  const isWorker = workerId !== null && workerId >= 0n && workerId <= 1023n
  if (!isWorker) report.note('the worker id is out of range: this instance keeps its own')
  const open = readInteger(row['registration_open'])
  await client.query(
    `update instance_settings set instance_id = coalesce($1::uuid, instance_id), worker_id = coalesce($2::int, worker_id),
       instance_name = coalesce($3, instance_name), registration_open = $4, federated_registration_open = $5,
       auto_accept_peering = $6 where id = 1`,
    [
      isKnown ? instanceId : null,
      isWorker ? Number(workerId) : null,
      readName(row['instance_name']),
      open === null ? null : open !== 0n,
      (readInteger(row['federated_registration_open']) ?? 1n) !== 0n,
      (readInteger(row['auto_accept_peering']) ?? 1n) !== 0n,
    ],
  )
  report.count('instance_settings', 'imported')
}

/** The account after which no registration becomes admin, and ids that this instance could meet again. */
export async function finishSettings(context: ImportContext): Promise<void> {
  await context.client.query(
    `update instance_settings set first_admin_id = coalesce(
       (select id from users where is_admin and home_instance is null and not is_deleted order by created_at, id limit 1), 0)
     where id = 1`,
  )
  const { rows } = await context.client.query<{ ahead: boolean }>(
    `select greatest((select max(id) from users), (select max(id) from messages), (select max(id) from dm_messages))
       > next_snowflake() as ahead`,
  )
  if (rows[0]?.ahead)
    context.report.note('ids of the database are later than the clock of this server: ids could repeat')
}
