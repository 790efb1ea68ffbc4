import { Migration } from '@mikro-orm/migrations'

export class Migration20261121Identities extends Migration {
  override up(): void {
    this.addSql(`
      alter table users
        add column former_home_instance text,
        add column former_home_user_id text,
        add column federation_home_orphaned boolean not null default false,
        add column avatar_source text,
        add column banner_source text,
        add constraint users_detached_check check (
          federation_home_orphaned = (former_home_instance is not null)
          and (former_home_instance is null or home_instance is null)
          and (former_home_user_id is null or former_home_instance is not null))`)
    this.addSql(`
      create table federation_registries (
        user_id bigint primary key references users (id) on delete cascade,
        entries jsonb not null,
        updated_at bigint not null
      )`)
  }
}
