import { Migration } from '@mikro-orm/migrations'

/** The limits count for all replicas. Their table is unlogged: a crash of the database resets them. Contract: 7. */
export class Migration20261122FederationLimits extends Migration {
  override up(): void {
    this.addSql(`
      create unlogged table federation_limits (
        name text not null,
        key text not null,
        requests integer not null,
        ends_at timestamptz not null,
        primary key (name, key)
      )`)
    this.addSql('create index federation_limits_end on federation_limits (ends_at)')
    this.addSql(`
      create index users_profile_changes on users (profile_updated_at, id)
        where profile_updated_at > 0 and home_instance is null and not is_deleted`)
  }
}
