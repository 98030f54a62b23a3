BEGIN TRANSACTION;
CREATE TABLE artifacts (
	run_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	media_type TEXT NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	size INTEGER NOT NULL, 
	created_at DOUBLE NOT NULL, 
	PRIMARY KEY (run_id, name), 
	FOREIGN KEY(run_id) REFERENCES runs (id), 
	FOREIGN KEY(sha256) REFERENCES blobs (sha256)
);
CREATE TABLE batches (
	run_id INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	batch INTEGER NOT NULL, 
	PRIMARY KEY (run_id, rank, batch), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
)
 WITHOUT ROWID

;
CREATE TABLE blobs (
	sha256 VARCHAR(64) NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (sha256)
);
CREATE TABLE events (
	run_id INTEGER NOT NULL, 
	id BIGINT NOT NULL, 
	name_id INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	step BIGINT, 
	time DOUBLE NOT NULL, 
	value DOUBLE, 
	PRIMARY KEY (run_id, id)
)
 WITHOUT ROWID

;
CREATE TABLE identities (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	role VARCHAR(20) NOT NULL, 
	nickname TEXT NOT NULL, 
	token_hash VARCHAR(128) NOT NULL, 
	created_at DOUBLE NOT NULL, 
	UNIQUE (token_hash)
);
CREATE TABLE names (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
CREATE TABLE runs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	session_id INTEGER NOT NULL, 
	workload TEXT NOT NULL, 
	status VARCHAR(20) NOT NULL, 
	params TEXT NOT NULL, 
	placement TEXT NOT NULL, 
	submitted_by TEXT NOT NULL, 
	identity_id INTEGER, 
	measured BOOLEAN NOT NULL, 
	rank_map TEXT, 
	machine TEXT, 
	metrics TEXT NOT NULL, 
	verdict TEXT, 
	error TEXT, 
	notices TEXT NOT NULL, 
	progress TEXT, 
	queued_at DOUBLE NOT NULL, 
	started_at DOUBLE, 
	finished_at DOUBLE, 
	cancel_requested BOOLEAN NOT NULL, 
	events BIGINT NOT NULL, 
	FOREIGN KEY(session_id) REFERENCES sessions (id), 
	FOREIGN KEY(identity_id) REFERENCES identities (id)
);
INSERT INTO "runs" VALUES(1,1,'kmeans','completed','{"clusters": 4}','{"ranks": 1}','',NULL,0,NULL,NULL,'{"points_per_second": 5.5}',NULL,NULL,'[]',NULL,1.79528446108262777327e+09,1.79528446109015369413e+09,1.79528446109704661369e+09,0,0);
CREATE TABLE sessions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name VARCHAR(40) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	message TEXT NOT NULL, 
	placement TEXT NOT NULL, 
	limits TEXT NOT NULL, 
	private BOOLEAN NOT NULL, 
	machine TEXT NOT NULL, 
	rank_map TEXT, 
	conductor_pid INTEGER, 
	heartbeat_at DOUBLE, 
	created_at DOUBLE NOT NULL, 
	stop_requested BOOLEAN NOT NULL, 
	reset_requested BOOLEAN NOT NULL, 
	site TEXT, 
	UNIQUE (name)
);
INSERT INTO "sessions" VALUES(1,'class','stopped','','{"ranks": 2}','{"ranks": 8, "threads": 8, "minutes": 10.0, "queued": 3}',0,'{}',NULL,NULL,1.79528446106622290609e+09,1.79528446106622290609e+09,0,0,NULL);
CREATE TABLE settings (
	"key" VARCHAR(100) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE spans (
	n INTEGER NOT NULL, 
	PRIMARY KEY (n)
);
CREATE TABLE studies (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind VARCHAR(40) NOT NULL, 
	workload TEXT NOT NULL, 
	description TEXT NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	submitted_by TEXT NOT NULL, 
	runner VARCHAR(40), 
	heartbeat_at DOUBLE, 
	created_at DOUBLE NOT NULL, 
	finished_at DOUBLE
);
INSERT INTO "spans" WITH RECURSIVE n(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM n WHERE n < 1999) SELECT n FROM n;
INSERT INTO "studies" VALUES(1,'scaling','kmeans','{"ranks": [1, 2]}','open','Ada',NULL,NULL,1.79528446107007074363e+09,NULL);
CREATE TABLE trials (
	study_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	params TEXT NOT NULL, 
	placement TEXT NOT NULL, 
	repeat INTEGER NOT NULL, 
	run_id INTEGER, 
	error TEXT, 
	PRIMARY KEY (study_id, number), 
	FOREIGN KEY(study_id) REFERENCES studies (id), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
INSERT INTO "trials" VALUES(1,1,'1 rank','{}','{"ranks": 1}',1,1,NULL);
INSERT INTO "trials" VALUES(1,2,'2 ranks','{}','{"ranks": 2}',1,NULL,'{"type": "BadInput", "message": "no luck"}');
CREATE TABLE workshop_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "workshop_schema" VALUES(3);
CREATE INDEX events_of_name ON events (run_id, name_id, rank, step, time, value);
CREATE INDEX runs_of_session ON runs (session_id, status);
CREATE INDEX ix_artifacts_sha256 ON artifacts (sha256);
CREATE INDEX ix_trials_run_id ON trials (run_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sessions',1);
INSERT INTO "sqlite_sequence" VALUES('studies',1);
INSERT INTO "sqlite_sequence" VALUES('runs',1);
COMMIT;
